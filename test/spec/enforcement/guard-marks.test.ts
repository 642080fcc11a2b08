import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import type { KeptRecords } from '../../../src/enforcement/guard/kept-records.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forUsualCluster } from '../../support/postgres.ts'

const sign = (text: string) => `signed ${text}`
const claimantOf = (databaseId: string) => ({
  databaseId,
  nameOwner: async () => null,
  hasRival: async () => false,
  sign,
})
const [own, shop] = ['00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002']
const masked = policy([rule('public.person.email')])

/** A copy of the records in the service's own database, or none. */
const keepCopy = (copy: Awaited<ReturnType<KeptRecords['readCopy']>>): KeptRecords => ({
  read: async () => [],
  readCopy: async () => copy,
  copy: async () => {},
  write: async () => {},
  clear: async () => {},
})

forUsualCluster((cluster) => {
  describe('the signature of the records', () => {
    let [theirs, target]: Awaited<ReturnType<typeof createMaskedDatabase>>[] = []
    let binding: Database
    let attacker = ''
    const settle = (kept?: KeptRecords) =>
      reconcile(binding, masked, { claimant: claimantOf(shop), ...(kept && { kept }) })
    const plant = (comment: string) =>
      target?.runAs(
        'attacker',
        `create schema if not exists masquerade_guard; comment on schema masquerade_guard is '${comment}'`,
      )
    const listGuards = async () => {
      const rows = await binding.sql<{ name: string }[]>`
        select nspname::text as name from pg_namespace where starts_with(nspname, 'masquerade_guard') order by 1`
      return rows.map(({ name }) => name)
    }
    const readComment = async ({ sql }: Database, schema: string) => {
      const [row] = await sql<{ comment: string }[]>`
        select obj_description(oid, 'pg_namespace') as comment from pg_namespace where nspname = ${schema}`
      return row?.comment ?? ''
    }
    const unmask = () => reconcile(binding, policy([]), { claimant: claimantOf(shop) })

    before(async () => {
      theirs = await createMaskedDatabase(cluster)
      target = await createMaskedDatabase(cluster)
      binding = target.database
      attacker = await target.createRole('attacker', 'LOGIN CREATEROLE')
      for (const { database } of [theirs, target])
        await database.sql.unsafe(`create table public.person (id int, email text);
          do $$ begin execute format('grant create on database %I to "${attacker}"', current_database()); end $$`)
      await theirs.database.sql.unsafe(`alter table public.person owner to "${attacker}"`)
    })
    after(async () => {
      await binding.sql.unsafe(`drop owned by "${attacker}" cascade`)
      await theirs?.database.sql.unsafe(`drop owned by "${attacker}" cascade`)
      await theirs?.[Symbol.asyncDispose]()
      await target?.[Symbol.asyncDispose]()
    })

    clause(
      'ENF-401',
      'The service signs its records for one database and one role: a role that is the role of another binding, and copies the comment…',
      async () => {
        // The service masks a database of the attacker's by a binding that logs in as the attacker.
        const url = new URL(theirs?.url ?? '')
        url.username = encodeURIComponent(attacker)
        url.password = 'secret'
        const session = openDatabase({ url: url.href, searchPath: 'public' })
        await reconcile(session, masked, { claimant: claimantOf(own) })
        const comment = await readComment(session, 'masquerade_guard')
        await session.close()
        assert.match(comment, /^masquerade guard signed /)
        await plant(comment)
        await settle()
        assert.deepEqual(await listGuards(), ['masquerade_guard', 'masquerade_guard_1'])
        assert.deepEqual((await settle()).steps, [])
        await unmask()
      },
    )

    clause(
      'ENF-402',
      'Records with the signature of the last release, which names no database, are left as they are where they belong to the role of the binding…',
      async () => {
        const [role] = await binding.sql<{ oid: number; mine: number }[]>`
          select (select oid::int8 from pg_roles where rolname = ${attacker}) as oid, oid::int8 as mine
          from pg_roles where rolname = current_user`
        await plant(`masquerade guard ${sign(`guard of role ${role?.oid}`)}`)
        await settle(keepCopy(null))
        assert.deepEqual(await listGuards(), ['masquerade_guard', 'masquerade_guard_1'])
        const former = `masquerade guard ${sign(`guard of role ${role?.mine}`)}`
        await binding.sql.unsafe(`comment on schema masquerade_guard_1 is '${former}'`)
        assert.deepEqual((await settle()).steps, [])
        assert.equal(await readComment(binding, 'masquerade_guard_1'), former)
        await binding.sql.unsafe(`comment on schema masquerade_guard_1 is 'of another role'`)
        await settle()
        assert.equal(
          await readComment(binding, 'masquerade_guard_1'),
          `masquerade guard ${sign(`guard of role ${role?.mine} ${shop}`)}`,
        )
        await unmask()
        await assert.rejects(
          settle(keepCopy({ version: '', restoredAt: null })),
          /masquerade_guard is not the binding role's/,
        )
      },
    )

    clause(
      'ENF-429',
      'Where a database was last changed by release 0.1, and its binding gets another role before the first turn of this release, no turn fails and no mask comes off…',
      async () => {
        for (const isSuperuser of [false, true]) {
          await using former = await createMaskedDatabase(cluster)
          const [analyst, first, second] = [
            await former.createRole('analyst'),
            await former.createRole('first', 'LOGIN CREATEROLE'),
            await former.createRole('second', 'LOGIN CREATEROLE'),
          ]
          const name = former.url.replace(/^.*\//, '')
          const run = (text: string) => former.database.sql.unsafe(text)
          await run(`create schema app authorization "${first}"; grant usage on schema app to public;
            create table app.person (id int, email text, phone text); insert into app.person values (1, 'raw', 'raw');
            alter table app.person owner to "${first}"; grant select on app.person to "${analyst}";
            grant create on database "${name}" to "${first}", "${second}"; grant "${first}" to "${second}"`)
          const settleAs = (session: Database, columns: readonly string[]) =>
            reconcile(session, policy(columns.map((column) => rule(`app.person.${column}`))), {
              claimant: claimantOf(shop),
              kept: keepCopy(null),
            })
          await settleAs(former.connectAs('first'), ['email'])
          const [role] = await run(`select oid::int8 from pg_roles where rolname = '${first}'`)
          const mark = `masquerade guard ${sign(`guard of role ${role?.oid}`)}`
          // Records of 0.1 do not say what a turn left of a grant.
          await run(`comment on schema masquerade_guard is '${mark}'; update masquerade_guard.relation
            set grants = (select jsonb_agg(g - 'left') from jsonb_array_elements(grants) g)`)
          const session = isSuperuser ? former.database : former.connectAs('second')
          const read = (relation: string) =>
            former.runAs('analyst', `select email, phone from ${relation}`).then(
              ([row]) => row,
              () => 'denied',
            )
          const { notes } = await settleAs(session, ['email', 'phone'])
          const note = notes.find(({ target: taken }) => taken === 'masquerade_guard')
          assert.match(note?.message ?? '', /make the role of the binding the owner of the schema/)
          assert.deepEqual([await read('app.person'), await read('masked_app.person')], ['denied', 'denied'])
          assert.deepEqual((await settleAs(session, ['email', 'phone'])).steps, [])

          const [user] = await session.sql<{ name: string }[]>`select quote_ident(current_user) as name`
          const tables = await run(`select oid::regclass::text as name from pg_class
            where relnamespace = 'masquerade_guard'::regnamespace and relkind = 'r'`)
          for (const owned of ['schema masquerade_guard', ...tables.map((table) => `table ${table.name}`)])
            await run(`alter ${owned} owner to ${user?.name}`)
          await settleAs(session, ['email', 'phone'])
          assert.equal(await read('app.person'), 'denied')
          assert.deepEqual(await read('masked_app.person'), { email: 'XXXX', phone: 'XXXX' })
          await settleAs(session, [])
          assert.deepEqual(await read('app.person'), { email: 'raw', phone: 'raw' })
          await run(`drop owned by "${first}", "${second}" cascade`)
        }
      },
    )
  })
})
