import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { canary, limit, masked, prepare, spy } from './twin-rights-cases.ts'

forEachCluster((cluster) => {
  const hasInvokers = majorOf(cluster) >= 15
  for (const isSuperuser of [true, false])
    describe(`rights of twins, with ${isSuperuser ? "a superuser's binding" : 'a binding that is a member of the owners'}`, () => {
      clause(
        'ENF-341',
        'A table whose row policies read a table of another owner, themselves or by the policies of a table that they read, has no twin and is closed to masked roles…',
        async () => {
          for (const isOwnerTrusted of [false, true]) {
            const one = await prepare(cluster, isSuperuser, isOwnerTrusted)
            await using _ = one.target
            const ways = [
              limit('lair.assignment'),
              `${limit('hr.region')}; alter table hr.region enable row level security;
                create policy p on hr.region using (region in (select region from lair.assignment))`,
              `create policy every on hr.client using (true); ${limit('lair.assignment', `as restrictive to "${one.mallory}"`)}`,
            ]
            for (const way of ways) {
              await one.run(way)
              const { notes } = await one.mask(...masked)
              await one.runAs(
                `alter table lair.assignment enable row level security; create policy spy on lair.assignment using (${spy})`,
              )
              const seen = await one.look('select * from masked_hr.client')
              assert.doesNotMatch(seen, new RegExp(canary), way)
              assert.match(seen, /does not exist/, way)
              assert.match(await one.look('select mail from hr.client'), /permission denied/, way)
              const named = notes.map(({ code, target, message }) => [code, target, message] as const)
              assert.deepEqual(
                named.filter(([code]) => code === 'NoTwin').map(([, target]) => target),
                ['hr.client'],
              )
              assert.match(
                named.map(([, , message]) => message).join(),
                new RegExp(`ALTER TABLE "lair"."assignment" OWNER TO "${one.owner}"`),
              )
              assert.match(await one.look('select salary from masked_hr.pay'), /XXXX/)
              assert.deepEqual((await one.mask(...masked)).steps, [])
              await one.runAs(
                'drop policy spy on lair.assignment; alter table lair.assignment disable row level security',
              )
              await one.run(`drop policy p on hr.client; drop policy if exists every on hr.client; drop policy if exists p on hr.region;
                alter table hr.client disable row level security; alter table hr.region disable row level security`)
              assert.deepEqual((await one.mask(...masked)).notes, [])
              assert.match(await one.look('select mail from masked_hr.client'), /XXXX/)
            }
          }
        },
      )

      clause(
        'ENF-341',
        'A table whose row policies read a table of another owner, themselves or by the policies of a table that they read, has no twin and is closed to masked roles…',
        async (t) => {
          t.diagnostic('the ways that the note and the clause name')
          const one = await prepare(cluster, isSuperuser)
          await using _ = one.target
          await one.run(limit('lair.assigned'))
          assert.deepEqual((await one.mask(...masked)).notes, [])
          assert.match(await one.look('select mail from masked_hr.client'), /XXXX/)
          await one.runAs(
            `alter table lair.assignment enable row level security, force row level security; create policy spy on lair.assignment using (${spy})`,
          )
          assert.match(await one.look('select mail from masked_hr.client'), /permission denied for table pay/)
          await one.runAs('drop policy spy on lair.assignment')
          await one.runAs('alter table lair.assignment disable row level security')
          await one.run(`drop policy p on hr.client; ${limit('lair.assignment')}`)
          await one.mask(...masked)
          assert.match(await one.look('select mail from masked_hr.client'), /does not exist/)
          for (const heir of [one.owner, isSuperuser ? 'current_user' : `"${one.binder}"`]) {
            await one.run(`alter table lair.assignment owner to ${heir === one.owner ? `"${heir}"` : heir}`)
            assert.deepEqual((await one.mask(...masked)).notes, [])
            assert.match(await one.look('select mail from masked_hr.client'), /XXXX/)
          }
        },
      )

      clause(
        'ENF-343',
        'A twin that stayed for objects of other roles when its masks ended gives no access to its table: after REVOKE on the table they show nothing of it, and row policies of a later owner…',
        async () => {
          for (const rest of [['hr.pay.salary'], []]) {
            const one = await prepare(cluster, isSuperuser)
            await using _ = one.target
            await one.run('create view hr.list as select id, mail from hr.client')
            await one.run(
              `alter view hr.list owner to "${one.owner}"; grant select on hr.list to "${one.mallory}"`,
            )
            await one.mask(...masked)
            await one.runAs(`create view lair.keep as select * from masked_hr.client;
              create view lair.listed as select * from masked_hr.list`)
            const { notes } = await one.mask(...rest)
            assert.deepEqual(
              notes.map(({ code }) => code),
              ['TwinKept', 'TwinKept'],
            )
            assert.deepEqual((await one.mask(...rest)).steps, [])
            for (const view of ['lair.keep', 'lair.listed'])
              assert.match(
                await one.look(`select mail from ${view}`),
                hasInvokers ? /XXXX/ : /permission denied/,
              )
            await one.run(
              `revoke all on hr.client, hr.list from "${one.mallory}"; insert into hr.client values (2, 1, '${canary}')`,
            )
            await one.mask(...rest)
            for (const view of ['lair.keep', 'lair.listed', 'hr.client', 'hr.list', 'masked_hr.client'])
              assert.match(await one.look(`select id from ${view}`), /permission denied/, view)
          }
        },
      )

      clause(
        'ENF-343',
        'A twin that stayed for objects of other roles when its masks ended gives no access to its table: after REVOKE on the table they show nothing of it, and row policies of a later owner…',
        async (t) => {
          t.diagnostic('the table is given away')
          const one = await prepare(cluster, isSuperuser)
          await using _ = one.target
          await one.mask(...masked)
          await one.runAs('create view lair.keep as select * from masked_hr.client')
          const kept = await one.ownerOf('masked_hr.client')
          await one.mask('hr.pay.salary')
          await one.run(`alter table hr.client owner to "${one.mallory}"`)
          await one.runAs(`alter table hr.client enable row level security, force row level security;
            create policy spy on hr.client using (${spy}); grant select on hr.client to public, ${kept}`)
          assert.match(await one.look('select * from lair.keep'), /permission denied/)
        },
      )

      clause(
        'ENF-343',
        'A twin that stayed for objects of other roles when its masks ended gives no access to its table: after REVOKE on the table they show nothing of it, and row policies of a later owner of the table run with the rights of the reader. The first turn…',
        async (t) => {
          t.diagnostic('twins of an earlier release')
          for (const rest of [['hr.pay.salary'], []]) {
            const one = await prepare(cluster, isSuperuser)
            await using _ = one.target
            await one.mask(...masked)
            await one.runAs('create view lair.keep as select * from masked_hr.client')
            await one.mask(...rest)
            const kept = await one.ownerOf('masked_hr.client')
            await one.run(`${hasInvokers ? 'alter view masked_hr.client reset (security_invoker);' : ''}
              grant select on masked_hr.client to "${one.mallory}"; grant select on hr.client to ${kept};
              revoke all on hr.client from "${one.mallory}"`)
            assert.match(await one.look('select mail from lair.keep'), /XXXX/)
            await one.mask(...rest)
            assert.match(await one.look('select mail from lair.keep'), /permission denied/)
            assert.deepEqual((await one.mask(...rest)).steps, [])
            await one.run('drop view lair.keep')
            await one.mask()
            assert.deepEqual(await one.run(`select from pg_namespace where nspname = 'masked_hr'`), [])
          }
        },
      )
    })

  describe('rights of twins, with a binding that is no member of the new owner', () => {
    clause(
      'ENF-342',
      'Where the role of the binding cannot act for the new owner of a masked table, its twin is closed to every role by the next turn, also by the one after its rule was deleted…',
      async () => {
        for (const isOwnerTrusted of [false, true])
          for (const rules of [masked, ['hr.pay.salary'], []]) {
            const one = await prepare(cluster, false, isOwnerTrusted)
            await using _ = one.target
            const reader = await one.target.createRole('reader')
            await one.run(
              `grant select on hr.client to "${reader}"; revoke "${one.mallory}" from "${one.binder}"`,
            )
            await one.mask(...masked)
            await one.runAs('create view lair.keep as select * from masked_hr.client')
            await one.run(`alter table hr.client owner to "${one.mallory}"`)
            await one.mask(...rules).catch(() => {})
            await one.runAs(
              `alter table hr.client enable row level security; create policy spy on hr.client using (${spy})`,
            )
            for (const view of ['lair.keep', 'masked_hr.client'])
              assert.match(await one.look(`select * from ${view}`), /permission denied/, view)
            if (rules !== masked) continue
            assert.deepEqual((await one.mask(...rules)).steps, [])
            // A member again: the twin is the new owner's, with the grants on it.
            await one.run(
              `grant "${one.mallory}" to "${one.binder}"; drop policy spy on hr.client; create policy every on hr.client using (true)`,
            )
            await one.mask(...masked)
            assert.equal(
              (await one.target.runAs('reader', 'select mail from masked_hr.client'))[0]?.mail,
              'XXXX',
            )
            assert.deepEqual((await one.mask(...masked)).steps, [])
          }
      },
    )
  })

  describe('a session that reads a twin', () => {
    clause(
      'ENF-345',
      'A session that reads a twin does not keep its table from being given back when the masks end…',
      async () => {
        for (const isKept of [true, false]) {
          const one = await prepare(cluster, true)
          await using _ = one.target
          await one.mask(...masked)
          if (isKept) await one.runAs('create view lair.keep as select * from masked_hr.client')
          const reader = one.target.connectAs('mallory')
          await reader.transaction(async (tx) => {
            await tx`select mail from masked_hr.client`
            await one.mask('hr.pay.salary').catch(() => {})
            assert.match(await one.look('select mail from hr.client'), /x@hr.example/)
            assert.match(await one.look('select mail from masked_hr.client'), /permission denied/)
          })
          await one.mask('hr.pay.salary')
          const end = isKept ? /permission denied/ : /does not exist/
          assert.match(await one.look('select mail from masked_hr.client'), end)
          assert.deepEqual((await one.mask('hr.pay.salary')).steps, [])
        }
      },
    )
  })
})
