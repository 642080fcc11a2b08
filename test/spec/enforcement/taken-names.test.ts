import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  type ExemptRoleStore,
  type KnownRole,
  settleExempt,
} from '../../../src/enforcement/grants/settle-exempt.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { openExemptRecords } from '../../support/exempt-records.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { createTestDatabase, forEachCluster, listClusters } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

for (const elsewhere of [...new Set(listClusters().slice(0, 2))])
  clause(
    'ENF-273',
    'A name that was taken so (ENF-198) stays refused when the database is made anew, moves to another server or the binding names another one, until the entry is removed and added.',
    async () => {
      await using store = await createTestDatabase()
      await using here = await createMaskedDatabase()
      await using there = await createMaskedDatabase(elsewhere)
      const id = randomUUID()
      await store.database.sql`
        insert into masked_database (id, tenant_id, key, subscription_id, resource_group, server_name, name, location)
        values (${id}, ${randomUUID()}, 'k', 's', 'g', 'v', 'd', 'local')`
      const known = openExemptRecords(store.database.sql, id)
      const ghost = here.role('ghost')
      const settle = async ({ database }: Target, entries = [ghost]) => {
        const policy = { exemptRoles: entries }
        const settled = await settleExempt(database.sql, known, await known.read(), policy, true)
        return { exemptRoles: settled?.exemptRoles, takenNames: settled?.takenNames }
      }
      const refused = { exemptRoles: [], takenNames: [ghost] }
      const run = ({ database }: Target, text: string) => database.sql.unsafe(text)
      const maker = await here.createRole('maker', 'LOGIN CREATEROLE')

      assert.deepEqual(await settle(here), { exemptRoles: [ghost], takenNames: [] })
      await here.runAs('maker', `create role "${ghost}"`)
      assert.deepEqual(await settle(here), refused)
      await run(here, `alter role "${maker}" nocreaterole`)
      const isOther = elsewhere !== listClusters()[0]
      if (isOther) await run(there, `create role "${ghost}"`)
      assert.deepEqual(await settle(there), refused)
      assert.deepEqual(await settle(there, [ghost, 'another']), {
        exemptRoles: ['another'],
        takenNames: [ghost],
      })
      assert.deepEqual(await settle(there), refused)
      assert.deepEqual(await settle(here), refused)
      await settle(there, [])
      assert.deepEqual(await settle(there), { exemptRoles: [ghost], takenNames: [] })
      for (const one of isOther ? [here, there] : [here]) await run(one, `drop role "${ghost}"`)
    },
  )

forEachCluster((cluster) => {
  clause(
    'ENF-290',
    'An entry of the exempt list exempts in a turn only the role that had its name when the service judged the entry…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const run = (text: string) => target.database.sql.unsafe(text)
      const owner = await target.createRole('owner', 'NOLOGIN')
      const maker = await target.createRole('maker', 'LOGIN CREATEROLE')
      const role = await target.createRole('m', 'NOLOGIN')
      const entry = target.role('entry')
      await run(`grant "${role}" to "${maker}" with admin option; create table public.person (id int, mail text);
        insert into public.person values (1, 'raw'); alter table public.person owner to "${owner}"; grant select on public.person to "${role}"`)
      const stored = new Map<string, KnownRole>()
      const store: ExemptRoleStore = {
        async write(_, known) {
          for (const [name, one] of known) stored.set(name, one)
          return true
        },
      }
      const act = (text: string) => target.runAs('maker', text)
      const wanted = policy([rule('public.person.mail')], [entry])
      const read = async () => {
        const rows = [...stored].map(([name, one]) => ({ entry: name, place: '', version: '', ...one }))
        return { ...wanted, ...(await settleExempt(target.database.sql, store, rows, wanted, true)) }
      }
      const reads = () => act('select mail from public.person')
      await reconcile(target.database, read)
      await assert.rejects(reads(), /permission denied/)
      await act(`alter role "${role}" rename to "${entry}"`)
      await reconcile(target.database, async () => {
        // The turn has read the roles, and has nothing to do until it knows the policy.
        await waitUntil('the turn has read the roles', async () => {
          const [row] =
            await run(`select count(*)::int as sessions from pg_stat_activity where datname = current_database()
            and state = 'idle in transaction' and state_change < clock_timestamp() - interval '100 ms'`)
          return row?.sessions === 1
        })
        await act(`alter role "${entry}" rename to "${role}"`)
        const settled = await read()
        await act(`alter role "${role}" rename to "${entry}"`)
        return settled
      })
      await act(`alter role "${entry}" rename to "${role}"`)
      await assert.rejects(reads(), /permission denied/)
      await reconcile(target.database, policy([]))
    },
  )
})
