import assert from 'node:assert/strict'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { findImpact } from '../../../src/enforcement/impact/find-impact.ts'
import { dryRun, reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { judgeUnfinished } from '../../../src/enforcement/states/judge-unfinished.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

/** Two tables, a view of the masked role mallory over the first, and a rule for the first. */
async function fill(target: Target) {
  const mallory = await target.createRole('mallory')
  await target.database.sql.unsafe(`create schema app; grant usage on schema app to "${mallory}"; create schema lair authorization "${mallory}";
      create table app.person (id int, mail text); insert into app.person values (7, 'raw');
      create table app.salary (id int, pay text); insert into app.salary values (1, 'raw');
      grant select on app.person, app.salary to "${mallory}"`)
  await target.runAs('mallory', 'create view lair.v as select id, mail from app.person')
  await reconcile(target.database, policy([rule('app.person.mail')]))
}

/**
 * The owner of a view owns its twin: gives it a condition that PostgreSQL stores and cannot print. Returns whether it cannot drop that
 * either, as a little deeper on every version.
 */
async function deepen(target: Target): Promise<boolean> {
  const isRun = (text: string) =>
    target.runAs('mallory', text).then(
      () => true,
      () => false,
    )
  for (let depth = 5000; ; depth = Math.ceil(depth * 1.04)) {
    const condition = `0${' + 0'.repeat(depth)} = 0`
    const rewrite = `create or replace rule "_RETURN" as on select to masked_lair.v do instead
      select id, mail from masked_app.person where ${condition}`
    assert.ok(await isRun(rewrite), `a condition of depth ${depth} is stored`)
    if (!(await isRun(`select pg_get_viewdef('masked_lair.v'::regclass)`)))
      return !(await isRun('begin; drop view masked_lair.v; rollback'))
  }
}

const claimant = { databaseId: '/deep', nameOwner: async () => null, hasRival: async () => false }
const both = policy([rule('app.person.mail'), rule('app.salary.pay')])

forEachCluster((cluster) => {
  clause(
    'ENF-393',
    'A twin that PostgreSQL cannot print for another reason, as its owner gave it an expression that is nested too deep, …',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const look = (text: string) => target.runAs('mallory', text)
      const change = async (wanted: typeof both) => {
        const outcome = await reconcile(target.database, wanted).catch((thrown) => thrown)
        const unfinished = outcome instanceof PartlyEnforced ? outcome.unfinished : []
        assert.ok(outcome.steps || outcome instanceof PartlyEnforced, String(outcome))
        return { outcome: outcome.outcome ?? outcome, unfinished }
      }
      await fill(target)
      const isStuck = await deepen(target)
      const plan = await dryRun(target.database, both, {})
      assert.ok(plan.some(({ why }) => why === 'the masked twin of app.salary'))
      await findImpact(target.database, both, claimant)
      await findExposures(target.database, both)
      const { outcome, unfinished } = await change(both)
      assert.deepEqual(await look('select * from masked_app.salary'), [{ id: 1, pay: 'XXXX' }])
      await assert.rejects(look('select pay from app.salary'), /permission denied/)
      assert.deepEqual(
        unfinished.map((one) => [one.target, one.isClosed]),
        isStuck ? [['"lair"."v"', true]] : [],
      )
      assert.equal(judgeUnfinished(outcome, unfinished, []).state, null)
      if (!isStuck) {
        assert.deepEqual(await look('select * from masked_lair.v'), [{ id: 7, mail: 'XXXX' }])
        assert.deepEqual((await reconcile(target.database, both)).steps, [])
        await deepen(target)
      }
      await change(policy([]))
      assert.deepEqual(await look('select * from app.person'), [{ id: 7, mail: 'raw' }])
    },
  )

  clause('ENF-394', 'A lock on a twin keeps no other relation from its masks, …', async () => {
    await using target = await createMaskedDatabase(cluster)
    await fill(target)
    const owner = target.connectAs('mallory')
    await owner.transaction(async (tx) => {
      await tx.unsafe('alter view masked_lair.v set (security_barrier)')
      await dryRun(target.database, both, {})
      const error = await reconcile(target.database, both).catch((thrown) => thrown)
      assert.ok(error instanceof PartlyEnforced, String(error))
      assert.deepEqual(
        error.unfinished.map((one) => [one.target, one.sqlstate, one.isClosed]),
        [['"lair"."v"', '55P03', true]],
      )
      assert.deepEqual(await target.runAs('mallory', 'select * from masked_app.salary'), [
        { id: 1, pay: 'XXXX' },
      ])
    })
    await reconcile(target.database, both)
    assert.deepEqual(await target.runAs('mallory', 'select * from masked_lair.v'), [{ id: 7, mail: 'XXXX' }])
  })
})
