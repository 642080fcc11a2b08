import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe } from 'node:test'
import { createKeptRecords } from '../../../src/enforcement/guard/kept-records.ts'
import { guardSchema } from '../../../src/enforcement/names.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { type ClusterName, majorOf } from '../../support/cluster.ts'
import { policy, rule } from '../../support/masked-database.ts'
import { createTestDatabase, forEachCluster } from '../../support/postgres.ts'
import { canary, limit, masked, prepare, spy } from './twin-rights-cases.ts'

/** The role reader may read hr.client and hr.pay, and the binding cannot act for mallory. */
async function prepareStranger(cluster: ClusterName) {
  const one = await prepare(cluster, false)
  const reader = await one.target.createRole('reader')
  await one.run(
    `grant select on hr.client, hr.pay to "${reader}"; revoke "${one.mallory}" from "${one.binder}"`,
  )
  const read = (text: string): Promise<string> =>
    one.target.runAs('reader', text).then(
      (rows) => JSON.stringify(rows),
      (error: Error) => error.message,
    )
  return { ...one, reader, read }
}

/** Records that the service keeps beside those of the database. */
async function keepRecords() {
  const store = await createTestDatabase()
  for (const table of ['closed_relation', 'copied_record'])
    await store.database.sql.unsafe(`alter table ${table} drop constraint ${table}_database_id_fkey`)
  return { store, kept: createKeptRecords(store.database.sql, randomUUID()) }
}

forEachCluster((cluster) => {
  const major = majorOf(cluster)

  describe('tables whose row policies read tables of members of their owner', () => {
    for (const isSuperuser of [true, false])
      clause(
        'ENF-346',
        'A table of a role that inherits from the owner of the masked table does not count as one of another owner (ENF-341)…',
        async () => {
          const one = await prepare(cluster, isSuperuser)
          await using _ = one.target
          const third = await one.target.createRole('third')
          await one.run(`${limit('lair.assignment')}; grant "${one.owner}" to "${one.mallory}";
            create schema den authorization "${third}"; grant usage on schema den to public`)
          await one.target.runAs(
            'third',
            'create table den.list (region int); grant select on den.list to public',
          )
          assert.deepEqual((await one.mask(...masked)).notes, [])
          assert.match(await one.look('select mail from masked_hr.client'), /XXXX/)
          assert.match(await one.look('select salary from hr.pay'), new RegExp(canary))
          // Policies of the member's table are followed.
          await one.runAs(`alter table lair.assignment enable row level security;
            create policy q on lair.assignment using (region in (select region from den.list))`)
          const { notes } = await one.mask(...masked)
          assert.match(notes.map(({ message }) => message).join(), /"den"."list"/)
          assert.match(await one.look('select mail from masked_hr.client'), /does not exist/)
          await one.runAs('drop policy q on lair.assignment; create policy q on lair.assignment using (true)')
          assert.deepEqual((await one.mask(...masked)).notes, [])
          // Not a member any more, or one that does not inherit.
          await one.run(
            major >= 16
              ? `grant "${one.owner}" to "${one.mallory}" with inherit false`
              : `alter role "${one.mallory}" noinherit`,
          )
          await one.mask(...masked)
          await one.runAs(
            `drop policy q on lair.assignment; create policy q on lair.assignment using (${spy})`,
          )
          assert.match(await one.look('select mail from masked_hr.client'), /does not exist/)
        },
      )

    for (const isSuperuser of [true, false])
      clause(
        'ENF-346',
        'A table of a role that inherits from the owner of the masked table does not count as one of another owner (ENF-341): that role reads the raw tables of that owner already. Where the owner is a superuser or the role of the binding it counts…',
        async () => {
          const one = await prepare(cluster, isSuperuser, true)
          await using _ = one.target
          await one.run(`${isSuperuser ? '' : `revoke "${one.mallory}" from "${one.binder}"`};
            ${limit('lair.assignment')}; grant "${one.owner}" to "${one.mallory}"`)
          const { notes } = await one.mask(...masked)
          assert.deepEqual(
            notes.map(({ code, target }) => [code, target]),
            [['NoTwin', 'hr.client']],
          )
          assert.match(await one.look('select mail from masked_hr.client'), /does not exist/)
        },
      )
  })

  describe('conditions of row policies', () => {
    clause(
      'ENF-319',
      'The condition for new rows of a policy for all commands counts as read (ENF-341), although a twin takes no writes…',
      async () => {
        const one = await prepare(cluster, true)
        await using _ = one.target
        const check = 'with check (region in (select region from lair.assignment))'
        await one.run(`alter table hr.client enable row level security; create policy every on hr.client for select using (true);
          create policy p on hr.client for insert ${check}`)
        assert.deepEqual((await one.mask(...masked)).notes, [])
        assert.match(await one.look('select mail from masked_hr.client'), /XXXX/)
        await one.run(`grant insert on masked_hr.client, hr.client to "${one.mallory}"`)
        assert.match(
          await one.look(`insert into masked_hr.client (id, region) values (2, 1)`),
          /permission denied for table client/,
        )
        await one.run(`drop policy p on hr.client; create policy p on hr.client using (true) ${check}`)
        await one.mask(...masked)
        assert.match(await one.look('select mail from masked_hr.client'), /does not exist/)
      },
    )
  })

  describe('tables that the binding cannot act for', () => {
    clause(
      'ENF-318',
      'Where the role of the binding cannot act for the owner of a table whose row policies read a table of another owner (ENF-341), its twin is closed to every role by the next turn…',
      async () => {
        const one = await prepareStranger(cluster)
        await using _ = one.target
        await one.mask(...masked)
        await one.run(`revoke "${one.owner}" from "${one.binder}"`)
        await one.mask(...masked)
        assert.match(await one.read('select mail from masked_hr.client'), /XXXX/)
        await one.run(limit('lair.assignment'))
        await one.runAs(
          `alter table lair.assignment enable row level security; create policy spy on lair.assignment using (${spy})`,
        )
        await one.mask(...masked)
        const seen = await one.look('select mail from masked_hr.client')
        assert.match(seen, /permission denied for view client/)
        assert.match(await one.read('select salary from masked_hr.pay'), /XXXX/)
        assert.deepEqual((await one.mask(...masked)).steps, [])
        await one.run(`drop policy p on hr.client; create policy every on hr.client using (true);
          grant "${one.owner}" to "${one.binder}"`)
        await one.mask(...masked)
        assert.match(await one.read('select mail from masked_hr.client'), /XXXX/)
      },
    )

    clause(
      'ENF-340',
      'A twin that is closed because the role of the binding cannot act for the owner of its table (ENF-342) keeps its owner of twins and the grants in the record: later turns have nothing to do…',
      async (t) => {
        t.diagnostic('later turns')
        for (const [isKept, rules] of [
          [true, ['hr.client.mail', 'hr.pay.salary']],
          [true, ['hr.client.mail']],
          [false, ['hr.client.mail', 'hr.pay.salary']],
        ] as const) {
          const one = await prepareStranger(cluster)
          await using _ = one.target
          await one.run(`alter table hr.pay owner to "${one.binder}"`)
          await one.mask(...rules)
          if (isKept) await one.runAs('create view lair.keep as select * from masked_hr.client')
          await one.run(`alter table hr.client owner to "${one.mallory}"`)
          await one.mask(...rules)
          assert.match(await one.read('select mail from masked_hr.client'), /permission denied/)
          assert.deepEqual((await one.mask(...rules)).steps, [])
          await one.run(`grant "${one.mallory}" to "${one.binder}"`)
          await one.mask(...rules)
          assert.match(await one.read('select mail from masked_hr.client'), /XXXX/)
          if (isKept) assert.match(await one.look('select mail from lair.keep'), /XXXX/)
          assert.deepEqual((await one.mask(...rules)).steps, [])
        }
      },
    )

    clause(
      'ENF-340',
      'A twin that is closed because the role of the binding cannot act for the owner of its table (ENF-342) keeps its owner of twins and the grants in the record: later turns have nothing to do, and the grants come back also where the records of the database were dropped meanwhile.',
      async (t) => {
        t.diagnostic('dropped records')
        const { store, kept } = await keepRecords()
        await using _store = store
        const one = await prepareStranger(cluster)
        await using _ = one.target
        const rules = ['hr.client.mail', 'hr.pay.id', 'hr.pay.salary'].map((name) => rule(name))
        const mask = () => reconcile(one.binding, policy(rules), { kept })
        await mask()
        await one.run(`drop schema ${guardSchema} cascade; alter table hr.pay owner to "${one.mallory}"`)
        await mask()
        assert.match(await one.read('select salary from masked_hr.pay'), /permission denied/)
        await one.run(`grant "${one.mallory}" to "${one.binder}"`)
        await mask()
        assert.match(await one.read('select salary from masked_hr.pay'), /XXXX/)
      },
    )

    clause(
      'ENF-347',
      'A table that the role of the binding cannot act for when its masks end keeps its record until the grants are given back…',
      async () => {
        for (const rest of [['hr.pay.salary'], []])
          for (const isWriter of [false, true]) {
            const one = await prepareStranger(cluster)
            await using _ = one.target
            if (isWriter) await one.run(`grant insert on hr.client to "${one.binder}"`)
            await one.mask(...masked)
            await one.run(`alter table hr.client owner to "${one.mallory}"`)
            const remedy = new RegExp(`GRANT "${one.mallory}" TO "${one.binder}"`)
            for (const _turn of [1, 2]) await assert.rejects(one.mask(...rest), remedy)
            assert.match(await one.read('select mail from hr.client'), /permission denied/)
            assert.match(await one.read('select mail from masked_hr.client'), /permission denied/)
            await one.run(`grant "${one.mallory}" to "${one.binder}"`)
            await one.mask(...rest)
            assert.match(await one.read('select mail from hr.client'), /x@hr.example/)
            assert.match(await one.read('select mail from masked_hr.client'), /does not exist/)
            assert.deepEqual((await one.mask(...rest)).steps, [])
          }
      },
    )
  })

  describe('twins of views that stay when masks end', () => {
    clause(
      'ENF-348',
      'A twin that stays for objects of other roles (ENF-343) also loses its rights where the role of the binding inherits from its owner without SET…',
      async () => {
        for (const way of major >= 16 ? ['inherits', 'is no member'] : ['is no member']) {
          const one = await prepare(cluster, false)
          await using _ = one.target
          const lister = await one.target.createRole('lister', 'NOLOGIN')
          await one.run(`grant "${lister}" to "${one.binder}"; grant select on hr.client to "${lister}";
            create view hr.list as select id, mail from hr.client; alter view hr.list owner to "${lister}";
            grant select on hr.list to "${one.mallory}"`)
          await one.mask(...masked)
          await one.runAs('create view lair.listed as select * from masked_hr.list')
          if (way === 'inherits')
            await one.run(`grant "${lister}" to "${one.binder}" with set false, inherit true`)
          else
            await one.run(
              `alter view hr.list owner to "${one.owner}"; revoke "${lister}" from "${one.binder}"`,
            )
          const { notes } = await one.mask('hr.pay.salary')
          const told = notes.map(({ code, message }) => `${code} ${message}`).join()
          assert.match(told, /TwinKept/)
          assert.deepEqual((await one.mask('hr.pay.salary')).steps, [])
          if (way === 'inherits') {
            assert.match(told, /roles that may read what it reads themselves/)
            await one.run(`revoke all on hr.client, hr.list from "${one.mallory}"`)
            assert.match(await one.look('select mail from lair.listed'), /permission denied/)
          } else assert.match(told, new RegExp(`stays as it was.+with the rights of "${lister}"`))
        }
      },
    )
  })
})
