import assert from 'node:assert/strict'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  const isOld = Number(cluster.replace(/\D+/, '')) < 16

  clause(
    'ENF-455',
    'A table of a masked role that a subscription of a role that sees raw values writes with the rights of its own owner is listed as high (`SubscriptionCode`)…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      const analyst = await target.createRole('analyst')
      await sql.unsafe(`create table public.person (id int, email text); create schema own authorization "${analyst}";
        create table own.box (a int); create table public.line (a int) partition by list (a); create table public.calm (a int);
        create table own.part partition of public.line for values in (1);
        create subscription inbound connection 'dbname=nowhere' publication p with (connect = false, slot_name = none)`)
      try {
        // As a subscription that connects has them. Nothing is applied: the servers of the tests write no logical changes.
        await sql`insert into pg_subscription_rel select s.oid, c.oid, 'r', null from pg_subscription s, pg_class c
          where s.subname = 'inbound' and s.subdbid = (select oid from pg_database where datname = current_database())
            and c.oid in ('own.box'::regclass, 'public.line'::regclass, 'public.calm'::regclass)`
        const wanted = policy([rule('public.person.email')])
        await reconcile(target.database, wanted)
        const look = async (wantedCode: string) =>
          (await findExposures(target.database, wanted)).filter(
            ({ code, roles }) => code === wantedCode && roles.includes(analyst),
          )
        assert.deepEqual(await look('SubscriptionCode'), [])
        await sql.unsafe(
          `alter table own.box owner to "${analyst}"; alter table own.part owner to "${analyst}"`,
        )
        if (!isOld) {
          assert.deepEqual(await look('SubscriptionCode'), [])
          await sql.unsafe('alter subscription inbound set (run_as_owner = true)')
        }
        const [found, ...others] = await look('SubscriptionCode')
        assert.deepEqual(others, [])
        assert.equal(found?.severity, 'high')
        assert.deepEqual(
          found?.objects.map(({ name }) => name),
          ['"inbound"', 'own.box', 'own.part'],
        )
        const [above] = await look('PartitionCode')
        assert.equal(above?.severity, 'high')
        for (const remedy of found?.remedy?.split(';\n') ?? []) await sql.unsafe(remedy)
        assert.deepEqual(await look('SubscriptionCode'), [])
      } finally {
        await sql.unsafe('drop subscription inbound')
      }
    },
  )
})
