import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forUsualCluster } from '../../support/postgres.ts'

forUsualCluster((cluster) => {
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  before(async () => {
    target = await createMaskedDatabase(cluster)
    await target.database.sql.unsafe(`
      create table public.people (id int, "E Mail" text, shout text generated always as (upper("E Mail")) stored, card text);
      create view public.seen as select card from public.people`)
  })
  after(() => target[Symbol.asyncDispose]())

  const readComments = async () => {
    const rows = await target.database.sql<{ place: string; text: string }[]>`
      select d.objoid::regclass || '.' || a.attname as place, d.description as text from pg_description d
      join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid
      where d.classoid = 'pg_class'::regclass and d.objoid >= 16384 order by 1`
    return Object.fromEntries(rows.map(({ place, text }) => [place, text]))
  }
  const enforce = async (...rules: Parameters<typeof policy>[0]) => {
    const { steps } = await reconcile(target.database, policy(rules))
    assert.deepEqual((await reconcile(target.database, policy(rules))).steps, [])
    return steps
  }
  const mail = { ...rule('public.people.E Mail', 'Email'), name: `mail's "rule" \\` }
  const card = { ...rule('public.people.card', 'CCN'), name: 'card' }
  const mailComments = {
    'masked_public.people.E Mail': `masked by rule mail's "rule" \\: Email`,
    'masked_public.people.shout': `masked by rule mail's "rule" \\: Default`,
  }

  clause(
    'ENF-129',
    'Each masked column of a twin has a comment with the rule and the function that mask it. It follows the rule and goes with the twin; comments of others on a twin are left alone. A second run has nothing to do.',
    async () => {
      await enforce(mail, card)
      const both = { ...mailComments, 'masked_public.people.card': 'masked by rule card: CCN' }
      assert.deepEqual(await readComments(), both)

      await target.database.sql.unsafe(`comment on column masked_public.people.id is 'the number';
        comment on column masked_public.people.card is 'not masked at all'`)
      const repaired = await enforce(mail, card)
      assert.equal(repaired.length, 1)
      assert.deepEqual(await readComments(), { ...both, 'masked_public.people.id': 'the number' })

      await enforce(mail)
      assert.deepEqual(await readComments(), { ...mailComments, 'masked_public.people.id': 'the number' })
      await enforce({ ...mail, maskingFunction: 'Default' })
      assert.equal(
        (await readComments())['masked_public.people.E Mail'],
        `masked by rule mail's "rule" \\: Default`,
      )
      await enforce()
      assert.deepEqual(await readComments(), {})
    },
  )
})
