import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import {
  type ExemptRoleStore,
  type KnownRole,
  type StoredRole,
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

  const pinned =
    'An entry that a turn judged while roles other than superusers and that of the binding could create roles exempts no role that takes its name later, also when no such role is left…'
  const openCase = async () => {
    const target = await createMaskedDatabase(cluster)
    const run = (text: string) => target.database.sql.unsafe(text)
    const maker = await target.createRole('maker', 'LOGIN CREATEROLE')
    const [entry, own] = [target.role('auditor'), target.role('own')]
    await run(`create table public.person (id int, mail text); insert into public.person values (1, 'raw');
      grant usage on schema public to public; grant select on public.person to "${maker}"`)
    await target.runAs('maker', `create role "${own}"`)
    await target.runAs('maker', `grant "${own}" to "${maker}"`)
    let stored: StoredRole[] = []
    const store: ExemptRoleStore = {
      async write(place, known) {
        stored = [...known].map(([name, one]) => ({ entry: name, place, version: '', ...one }))
        return true
      },
    }
    const wanted = policy([rule('public.person.mail')], [entry])
    const client = new pg.Client({ connectionString: target.urlOf('maker') })
    client.on('error', () => {})
    await client.connect()
    return {
      entry,
      own,
      maker,
      run,
      client,
      withdraw: () => run(`alter role "${maker}" nocreaterole`),
      async turn() {
        const settled = await settleExempt(target.database.sql, store, stored, wanted, true)
        await reconcile(target.database, { ...wanted, ...settled })
        return settled?.takenNames
      },
      reads: () => target.runAs('maker', 'select mail from public.person'),
      isDenied: () =>
        assert.rejects(target.runAs('maker', 'select mail from public.person'), /permission denied/),
      async [Symbol.asyncDispose]() {
        await client.end().catch(() => {})
        await reconcile(target.database, policy([]))
        for (const role of [entry, own]) await run(`drop role if exists "${role}"`)
        await target[Symbol.asyncDispose]()
      },
    }
  }

  clause('ENF-357', pinned, async () => {
    await using one = await openCase()
    await one.turn()
    await one.client.query(`begin; alter role "${one.own}" rename to "${one.entry}"`)
    await one.turn()
    await one.withdraw()
    assert.deepEqual([await one.turn(), await one.turn()], [[], []])
    await one.isDenied()
    await one.client.query('commit')
    assert.deepEqual(await one.turn(), [one.entry])
    await one.isDenied()
    // A role that only a superuser can have created is refused all the same.
    await one.run(`drop role "${one.entry}"; create role "${one.entry}"`)
    assert.deepEqual(await one.turn(), [one.entry])
  })

  // CREATEROLE is withdrawn before the next turn.
  clause('ENF-357', pinned, async () => {
    await using one = await openCase()
    await one.turn()
    await one.client.query(`alter role "${one.own}" rename to "${one.entry}"`)
    await one.withdraw()
    assert.deepEqual(await one.turn(), [one.entry])
    await one.isDenied()
  })

  // The role of the entry is dropped, its name is taken and CREATEROLE is withdrawn between two turns.
  clause('ENF-357', pinned, async () => {
    await using one = await openCase()
    await one.run(`create role "${one.entry}"`)
    assert.deepEqual(await one.turn(), [])
    await one.run(`drop role "${one.entry}"`)
    await one.client.query(`alter role "${one.own}" rename to "${one.entry}"`)
    await one.withdraw()
    assert.deepEqual(await one.turn(), [one.entry])
    await one.isDenied()
  })

  // The role that the entry named stays exempt.
  clause('ENF-357', pinned, async () => {
    await using one = await openCase()
    await one.run(`create role "${one.entry}"`)
    assert.deepEqual(await one.turn(), [])
    await one.withdraw()
    await one.run(`alter role "${one.entry}" rename to "${one.entry}_away"`)
    assert.deepEqual(await one.turn(), [])
    await one.run(
      `alter role "${one.entry}_away" rename to "${one.entry}"; grant "${one.entry}" to "${one.maker}"`,
    )
    assert.deepEqual(await one.turn(), [])
    await one.reads()
  })

  clause(
    'ENF-358',
    'At another server an entry counts as new (ENF-357), unless it had no role at the former one.',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const entry = await target.createRole('auditor')
      const store: ExemptRoleStore = { write: async () => true }
      for (const oid of [5, null]) {
        const stored = [{ entry, place: '1/2', version: '', oid, isTaken: false, isPinned: true }]
        const wanted = { exemptRoles: [entry] }
        const settled = await settleExempt(target.database.sql, store, stored, wanted, true)
        assert.deepEqual(settled?.takenNames, oid === null ? [entry] : [])
      }
    },
  )
})
