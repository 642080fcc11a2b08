import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import pino from 'pino'
import type { MaskedRelation } from '../../../../src/contracts/role-masks.ts'
import { MaskMap } from '../../../../src/gateway/rewrite/mask-map.ts'
import { StatementTexts } from '../../../../src/gateway/session/statement-texts.ts'
import { readSearchPath } from '../../../../src/sql/search-path.ts'
import { join, mapPosition } from '../../../../src/sql/splice.ts'
import { runs } from '../../../support/runs.ts'
import { cases } from './rewrite-cases.ts'

const relation = (schema: string, name: string, hasChildren = false): MaskedRelation => ({
  schema,
  name,
  twin: { schema: `masked_${schema}`, name },
  columns: ['id', 'email'],
  hasChildren,
  key: ['id'],
  dependent: ['id', 'email', 'na"me'],
})
const relations = [
  relation('public', 'customers'),
  relation('public', 'adults'),
  relation('public', 'staff', true),
  relation('sales', 'Kunden Döner'),
  relation('sales', 'q"uote'),
]
const homonyms = [
  ...relations.flatMap(({ schema, name, twin }) => [{ schema, name }, twin]),
  { schema: 'sales', name: 'customers' },
]
const open = (parameters: Record<string, string> = {}, masks = new MaskMap({ relations, homonyms })) =>
  new StatementTexts({
    masks: () => masks,
    role: 'ann',
    database: 'shop',
    parameters: new Map(
      Object.entries({ search_path: '"$user", public', client_encoding: 'UTF8', ...parameters }),
    ),
    log: pino({ level: 'silent' }),
  })
const rewrite = (texts: StatementTexts, text: string, encoding: BufferEncoding = 'utf8') => {
  const moved = texts.rewrite(Buffer.from(text, encoding))
  return moved ? join(moved.original, moved.splices).toString(encoding) : text
}

describe('rewriting', () => {
  for (const [written, sent] of cases)
    test(written.replaceAll('\n', ' ') || '(nothing)', () => {
      const masks = new MaskMap({ relations, homonyms })
      for (let round = 0; round < 2; round++)
        assert.equal(rewrite(open({}, masks), written), sent === '=' ? written : sent)
    })

  test('a statement leaves nothing behind for the next, nor for other roles', () => {
    rewrite(open(), 'lock table customers')
    const text = 'select public.customers.id from sales.customers, sales.customers c'
    assert.equal(rewrite(open(), text), text)
  })

  test('what a session has set stays set', () => {
    const texts = open()
    const moves = () => rewrite(texts, 'table customers') !== 'table customers'
    assert.ok(moves())
    rewrite(texts, 'set search_path = nowhere')
    assert.ok(!moves())
    rewrite(texts, 'reset search_path')
    assert.ok(moves())
    texts.setParameter('search_path', 'nowhere, "public"')
    assert.ok(moves())
    texts.setParameter('search_path', '"Public"')
    assert.ok(!moves())
    rewrite(texts, 'reset all')
    rewrite(texts, 'create temporary view customers as select 1')
    assert.ok(!moves())
    rewrite(texts, 'discard temp')
    assert.ok(moves())
  })

  test('search paths', () => {
    const exact = (...schemas: string[]) => ({ schemas, isExact: true })
    assert.deepEqual(readSearchPath('"$user", public'), exact('$user', 'public'))
    assert.deepEqual(readSearchPath('a,"b, ""c""" ,  D\n'), exact('a', 'b, "c"', 'd'))
    assert.deepEqual(readSearchPath('"Bücher",public'), exact('Bücher', 'public'))
    assert.deepEqual(readSearchPath(''), exact())
    assert.deepEqual(readSearchPath('BÜCHER, a').schemas, ['bÜcher', 'a'])
    for (const text of ['bücher', 'a"b', 'a\u00a0b', '"\ufffd"', 'a'.repeat(64), `"${'ü'.repeat(32)}"`])
      assert.equal(readSearchPath(`${text}, public`).isExact, false, text)
  })

  test('other encodings of the client', () => {
    const latin = open({ client_encoding: 'LATIN1' })
    assert.equal(
      rewrite(latin, "select 'é' from customers", 'latin1'),
      'select \'é\' from "masked_public"."customers"',
    )
    assert.equal(
      rewrite(latin, 'table sales."Kunden Döner"', 'latin1'),
      'table "masked_sales".U&"Kunden D\\00f6ner"',
    )
    const treacherous = open({ client_encoding: 'SJIS' })
    assert.equal(
      rewrite(treacherous, "select '\x83\\' from customers --'", 'latin1'),
      'select \'\x83\\\' from "masked_public"."customers" --\'',
    )
    assert.equal(rewrite(treacherous, 'table customers'), 'table "masked_public"."customers"')
    assert.equal(open().rewrite(Buffer.from('select 1 from customers --\xff', 'latin1')), undefined)
  })

  test('backslashes in plain strings where they escape', () => {
    const texts = open({ standard_conforming_strings: 'off' })
    const twin = '"masked_public"."customers"'
    assert.equal(rewrite(texts, "select '\\' from customers --'"), "select '\\' from customers --'")
    assert.equal(rewrite(texts, "select 'é\\'\\\\' from customers"), `select 'é\\'\\\\' from ${twin}`)
    for (const prefix of ['n', 'E', ''])
      assert.equal(
        rewrite(texts, `select ${prefix}'\\'' from customers`),
        `select ${prefix}'\\'' from ${twin}`,
      )
    // Where the rewriter cannot tell, the server decides.
    for (const text of [
      "select b'1'\n'\\' from customers --'",
      "select U&'\\' from customers --'",
      "select 1e'\\'' from customers",
    ])
      assert.equal(rewrite(texts, text), text)
    assert.equal(rewrite(texts, 'table customers'), 'table "masked_public"."customers"')
  })

  test('long lists of literals move like short ones', () => {
    const texts = open()
    const numbers = Array.from({ length: 20_000 }, (_, index) => index)
    const lists: Record<string, string> = {
      numbers: `(${numbers})`,
      strings: `(${numbers.map((number) => `'it''s ${number}'`)})`,
      escapes: `(${numbers.map((number) => `E'\\'customers ${number}'`)})`,
      casts: `(${numbers.map((number) => `'${number}'::text`).join(' , ')})`,
      parameters: `(${numbers.map((number) => `$${number + 1}`)})`,
      rows: `(values (1, 'é', null), (-2, 'customers', true)${',(3,$$x$$,default)'.repeat(10_000)})`,
    }
    for (const [name, list] of Object.entries(lists)) {
      const text = `select 'ü', id from public.customers where id in ${list} and 1 = any (select id from customers)`
      const moved = text
        .replace('public.customers', '"masked_public"."customers"')
        .replace('from customers)', 'from "masked_public"."customers")')
      assert.equal(rewrite(texts, text), moved, name)
    }
    const path = `set search_path = ${numbers.slice(0, 2000).map((number) => `'s${number}'`)}, 'public'`
    rewrite(texts, path)
    assert.equal(rewrite(texts, 'table customers'), 'table "masked_public"."customers"')
  })

  test('what is cut out of a text changes nothing of what is found in it', () => {
    const literal = fc.constantFrom(
      '1',
      "'a'",
      '$1',
      'null',
      '-1',
      "E'\\''",
      '(1,2)',
      "'x'::text",
      '1 /* , 2 */',
      "'é'",
      'customers.id',
    )
    const list = fc.array(literal, { minLength: 1, maxLength: 8 }).map((items) => items.join(', '))
    fc.assert(
      fc.property(list, list, (one, two) => {
        const text = `select ${one}, email from customers where id in (${two}) and ((${one}), (${two})) in (values (${one})) or public.customers.id = 1${' '.repeat(5000)}`
        assert.equal(rewrite(open(), text), `${rewrite(open(), text.trimEnd())}${' '.repeat(5000)}`)
      }),
      { numRuns: runs(100) },
    )
  })

  test('bombs pass as they are, and the parser survives them', () => {
    const texts = open()
    const bombs = ['(', 'not ', '(select ', '-(', 'case when '].map(
      (piece) => `select ${piece.repeat(20_000)} customers`,
    )
    const chains = ['+1', ' union select 1', ' join customers on true', '::text', ' and 1', ' || 1'].map(
      (piece) => `select 1 from customers${piece.repeat(20_000)}`,
    )
    for (let round = 0; round < 3; round++)
      for (const bomb of [...bombs, ...chains]) assert.equal(rewrite(texts, bomb), bomb)
    for (const piece of ['+1', ' union select 1', ' join orders on true', '::text', '[1]'])
      rewrite(texts, `select 1 from customers where 1=1${piece.repeat(600)}`)
    assert.equal(rewrite(texts, 'table customers'), 'table "masked_public"."customers"')
  })

  test('an empty statement does the parser no harm', () => {
    const wordless = { ...relation('public', '+'), columns: [] }
    const masks = new MaskMap({ relations: [wordless], homonyms: [wordless] })
    const texts = open({}, masks)
    for (const text of ['', ' ', ';', '--']) assert.equal(rewrite(texts, text), text)
    assert.equal(rewrite(texts, 'table "+"'), 'table "masked_public"."+"')
  })

  test('positions come back to the text of the client', () => {
    const text = 'select ä, "ö" from public.customers c join customers on nothere'
    const moved = open().rewrite(Buffer.from(text))
    assert.ok(moved)
    const seen = join(moved.original, moved.splices).toString()
    for (const word of ['select', '"ö"', 'from', ' c join', 'on nothere', 'nothere'])
      assert.equal(mapPosition(moved, seen.indexOf(word) + 1), text.indexOf(word) + 1, word)
    assert.equal(mapPosition(moved, seen.indexOf('masked_public') + 1), text.indexOf('public') + 1)
    fc.assert(
      fc.property(fc.nat({ max: seen.length }), (at) => {
        const own = mapPosition(moved, at + 1)
        assert.ok(own >= 1 && own <= text.length + 1)
      }),
      { numRuns: runs(100) },
    )
  })

  test('a text that names no masked table is not parsed', () => {
    const masks = new MaskMap({ relations, homonyms })
    for (const text of [
      'select 1',
      'select * from orders',
      "select 'cust' || 'omers'",
      'select customer from t',
    ])
      assert.ok(!masks.concerns(text), text)
    for (const text of ['CUSTOMERS', '"q""uote"', 'U&"x"', `x${'y'.repeat(63)}`, 'SET Search_Path'])
      assert.ok(masks.concerns(text), text)
    assert.ok(!new MaskMap({ relations: [], homonyms }).concerns('customers'))
  })
})
