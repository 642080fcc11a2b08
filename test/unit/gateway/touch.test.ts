import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { MaskMap } from '../../../src/gateway/mask-map.ts'
import { loadParser } from '../../../src/gateway/parse.ts'
import type { MaskedRelation, WatchedColumn, WatchedRelation } from '../../../src/gateway/ports.ts'
import { rewriteText } from '../../../src/gateway/rewrite.ts'
import { cases } from './touch-cases.ts'

const columns: Record<string, string[]> = {
  customers: ['id', 'name', 'email', 'phone'],
  staff: ['sid', 'email', 'pay'],
  people: ['id', 'home'],
}
const column = (table: string, attribute: string, isRaw = false): WatchedColumn => ({
  column: `public.${table}.${attribute}`,
  attribute,
  isRaw,
})
const table = (name: string, masked: string[], isRaw: boolean, schema = 'public'): WatchedRelation => ({
  schema,
  name,
  attributes: columns[name] ?? [],
  masked: masked.map((attribute) => column(name, attribute, isRaw && schema === 'public')),
  shows: [],
})
const watched = (isRaw: boolean): WatchedRelation[] => [
  table('customers', ['email', 'phone'], isRaw),
  table('customers', ['email', 'phone'], isRaw, 'masked_public'),
  table('staff', ['email', 'pay'], isRaw),
  table('people', ['home'], isRaw),
  {
    schema: 'public',
    name: 'adults',
    attributes: ['id', 'email'],
    masked: [],
    shows: [column('customers', 'email', isRaw)],
  },
]
const moved = (name: string, hasChildren = false): MaskedRelation => ({
  schema: 'public',
  name,
  twin: { schema: 'masked_public', name },
  columns: columns[name] ?? [],
  hasChildren,
  key: [],
  dependent: [],
})
const homonyms = [
  ...watched(false).map(({ schema, name }) => ({ schema, name })),
  { schema: 'sales', name: 'customers' },
]
const relations = [moved('customers'), moved('staff', true), moved('people'), moved('adults')]
const maskedRole = new MaskMap({ relations, homonyms, watched: watched(false) })
const exemptRole = new MaskMap({ relations: [], homonyms, watched: watched(true) })

function look(masks: MaskMap, text: string, path = ['public']) {
  const names = { masks, database: 'shop', path, hidden: new Set<string>() }
  return rewriteText(Buffer.from(text), names)
}

function touched(masks: MaskMap, text: string, path?: string[]): Set<string> {
  const found = look(masks, text, path).acts.flatMap(({ touch }) => touch ?? [])
  return new Set([
    ...found.flatMap(({ masked }) => masked),
    ...found.flatMap(({ raw }) => raw.map((each) => `raw ${each}`)),
    ...found.flatMap(({ written }) => written.map((each) => `>${each}`)),
    ...(found.some(({ isUnparsed }) => isUnparsed) ? ['!'] : []),
  ])
}

function wanted(short: string): Set<string> {
  const words = short.split(' ').filter(Boolean)
  return new Set(
    words
      .flatMap((word) => (word === '*' ? ['email', 'phone'] : [word]))
      .map((word) => {
        const [, sign, name = ''] = /^([>!]?)(.*)$/.exec(word) ?? []
        return name === '' ? '!' : `${sign}public.${name.includes('.') ? name : `customers.${name}`}`
      }),
  )
}

describe('what a statement touches', () => {
  before(loadParser)

  for (const [text, short] of cases) {
    test(text, () => assert.deepEqual(touched(maskedRole, text), wanted(short)))
  }

  test('who is exempt reads the same raw, except from the twins, and nothing moves', () => {
    for (const [text, short] of cases) {
      const readsTwin = text.includes('masked_public')
      const raw = [...wanted(short)].map((each) => (/^[>!]/.test(each) || readsTwin ? each : `raw ${each}`))
      assert.deepEqual(touched(exemptRole, text), new Set(raw), text)
      assert.deepEqual(look(exemptRole, text).splices, [], text)
    }
  })

  test('a name without a schema follows the path, and may be anybody when that leads nowhere', () => {
    assert.equal(touched(maskedRole, 'table customers', ['sales', 'public']).size, 0)
    assert.equal(touched(maskedRole, 'table customers', ['public', 'sales']).size, 2)
    assert.equal(touched(maskedRole, 'table customers', ['masked_public', 'public']).size, 2)
    assert.equal(touched(maskedRole, 'table customers', ['nowhere']).size, 2)
    assert.equal(touched(maskedRole, 'set search_path = sales; table customers').size, 0)
    assert.equal(touched(maskedRole, 'set search_path = sales; table public.customers').size, 2)
  })

  test('a temporary table of the name of a masked one is no excuse', () => {
    const names = { masks: exemptRole, database: 'shop', path: ['public'], hidden: new Set(['customers']) }
    assert.equal(rewriteText(Buffer.from('table customers'), names).acts.length, 1)
  })

  test('the kind of a statement is told, and what is prepared or run', () => {
    const kinds = (text: string) => look(maskedRole, text).acts.map(({ touch }) => touch?.kind)
    assert.deepEqual(kinds('table customers; copy customers to stdout; truncate customers'), [
      'SELECT',
      'COPY',
      'TRUNCATE',
    ])
    assert.deepEqual(
      ['create view v as', 'create table t as', 'declare c cursor for', 'explain'].flatMap((start) =>
        kinds(`${start} table customers`),
      ),
      ['CREATE VIEW', 'CREATE TABLE AS', 'DECLARE', 'EXPLAIN'],
    )
    const [prepare, ...others] = look(
      maskedRole,
      'prepare a as table customers; execute a(1); explain execute "B"; create table t as execute c',
    ).acts
    assert.equal(prepare?.prepares, 'a')
    assert.deepEqual(
      others.map(({ executes }) => executes),
      [['a'], ['B'], ['c']],
    )
  })

  test('no literal is in what is found', () => {
    const text =
      "select email from customers where email = 'ann@example.com' and phone <> $$555$$ or id = 4711"
    assert.doesNotMatch(JSON.stringify(look(maskedRole, text).acts), /ann|555|4711/)
  })
})
