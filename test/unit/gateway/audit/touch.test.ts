import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MaskMap } from '../../../../src/gateway/rewrite/mask-map.ts'
import { rewriteText } from '../../../../src/gateway/rewrite/rewrite.ts'
import { cases } from './touch-cases.ts'
import { changingRole, exemptRole, look, maskedRole, touched, wanted } from './touch-scene.ts'

describe('what a statement touches', () => {
  for (const [text, short] of cases) {
    test(text, () => assert.deepEqual(touched(maskedRole, text), wanted(short)))
  }

  test('who is exempt reads the same raw, except from the twins, and nothing moves', () => {
    for (const [text, short] of cases) {
      const readsTwin = text.includes('masked_public')
      const raw = [...wanted(short)].map((each) => (/^[>!]/.test(each) || readsTwin ? each : `raw ${each}`))
      // A view may lead to errors with whole rows.
      const all = text.startsWith('create view v as select phone') ? ['raw public.customers.email'] : []
      assert.deepEqual(touched(exemptRole, text), new Set([...all, ...raw]), text)
      assert.deepEqual(look(exemptRole, text).splices, [], text)
    }
  })

  test('a name without a schema follows the path, and may be anybody when that leads nowhere', () => {
    assert.equal(touched(maskedRole, 'table customers', ['sales', 'public']).size, 2)
    assert.equal(touched(maskedRole, 'table customers', ['sales']).size, 0)
    assert.equal(touched(maskedRole, 'table customers', ['public', 'sales']).size, 2)
    assert.equal(touched(maskedRole, 'table customers', ['masked_public', 'public']).size, 2)
    assert.equal(touched(maskedRole, 'table customers', ['nowhere']).size, 2)
    assert.equal(touched(maskedRole, 'set search_path = sales; table customers').size, 0)
    assert.equal(touched(maskedRole, 'set search_path = sales; table public.customers').size, 2)
  })

  test('what a name means is uncertain once other statements of its text have run', () => {
    const isUncertain = (text: string, path: string[]) => touched(exemptRole, text, path).has('!')
    const sets = "select set_config('search_' || 'path', 'public', false)"
    assert.ok(isUncertain(`${sets}; select email from customers`, ['sales', 'public']))
    assert.ok(isUncertain(`${sets}; select email from customers`, ['public']))
    assert.ok(isUncertain('begin; set search_path = sales; rollback; table customers', ['public']))
    assert.ok(isUncertain('reset search_path; table customers', ['sales']))
    assert.ok(!isUncertain(`${sets}; select email from public.customers`, ['sales', 'public']))
    // Of these there is but one, and its twin.
    assert.ok(!isUncertain(`${sets}; select pay from staff`, ['sales', 'public']))
    assert.ok(!isUncertain(`${sets}; select body from notes`, ['sales', 'public']))
    assert.ok(!isUncertain('begin; set search_path = public; table customers', ['sales']))
    assert.ok(!isUncertain('table customers', ['sales']))
  })

  test('a name that is not moved means every relation of that name on the path', () => {
    const raw = new Set(['raw public.customers.email'])
    const path = ['sales', 'public']
    assert.deepEqual(touched(changingRole, 'select email from customers', path), raw)
    assert.deepEqual(touched(exemptRole, 'select email from customers', path), raw)
    assert.deepEqual(touched(exemptRole, 'select email from customers', ['sales']), new Set())
    assert.deepEqual(touched(changingRole, 'select id from customers', path), new Set())
    // A column that the other relation may lack is one of the next level.
    const inner = 'select (select pay from customers) from staff'
    assert.ok(touched(changingRole, inner, path).has('public.staff.pay'))
    // What is moved is masked, and what cannot be moved is not.
    const moved = new Set(['public.customers.email'])
    assert.deepEqual(touched(changingRole, 'select email from customers', ['public', 'sales']), moved)
    assert.deepEqual(touched(changingRole, 'select email from customers for update'), raw)
  })

  test('a name with very many meanings touches all of them', () => {
    const schemas = Array.from({ length: 150 }, (_, at) => `s${at}`)
    const masked = (schema: string) => [{ column: `${schema}.t.c`, attribute: 'c', isRaw: true }]
    const masks = new MaskMap({
      relations: [],
      homonyms: schemas.map((schema) => ({ schema, name: 't' })),
      watched: schemas.map((schema) => ({
        schema,
        name: 't',
        attributes: ['c'],
        masked: masked(schema),
        shows: [],
      })),
    })
    for (const count of [100, 101, 150]) {
      const found = touched(masks, 'select c from t', schemas.slice(0, count))
      for (const schema of schemas.slice(0, count)) assert.ok(found.has(`raw ${schema}.t.c`), schema)
    }
  })

  test('a temporary table of the name of a masked one is no excuse', () => {
    const names = { masks: exemptRole, database: 'shop', path: ['public'], hidden: new Set(['customers']) }
    assert.equal(rewriteText(Buffer.from('table customers'), names).effects.length, 1)
  })

  test('the kind of a statement is told, and what is prepared or run', () => {
    const kinds = (text: string) => look(maskedRole, text).effects.map(({ touch }) => touch?.kind)
    assert.deepEqual(kinds('table staff; copy staff to stdout; truncate staff'), [
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
    ).effects
    assert.equal(prepare?.prepares, 'a')
    assert.deepEqual(
      others.map(({ executes }) => executes),
      [['a'], ['B'], ['c']],
    )
  })

  test('no literal is in what is found', () => {
    const text =
      "select email from customers where email = 'ann@example.com' and phone <> $$555$$ or id = 4711"
    assert.doesNotMatch(JSON.stringify(look(maskedRole, text).effects), /ann|555|4711/)
  })
})
