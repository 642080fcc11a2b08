import assert from 'node:assert/strict'
import pg from 'pg'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { canary } from './exposure-cases.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

/** Exposures that take a statement which no transaction can have. */
forEachCluster((cluster) => {
  clause(
    'ENF-470',
    'A unique index over a masked column that is not valid, as a failed CREATE UNIQUE INDEX CONCURRENTLY leaves it, is listed as medium…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      const keeper = await target.createRole('keeper')
      const holder = await target.createRole('holder')
      const maintainer = await target.createRole('maintainer')
      const reader = await target.createRole('reader')
      await sql.unsafe(`create schema desk authorization "${holder}"; create table desk.person (id int, email text);
        insert into desk.person values (1, '${canary}'), (2, '${canary}'); grant usage on schema desk to public;
        grant select on desk.person to "${reader}"`)
      await assert.rejects(
        async () => await sql.unsafe('create unique index concurrently once on desk.person (email)'),
      )
      const wanted = policy([rule('desk.person.email')])
      await reconcile(target.database, wanted)
      const look = async () =>
        (await findExposures(target.database, wanted)).filter(({ objects }) =>
          objects.some(({ name }) => name === 'desk.once'),
        )
      const isRecent = Number(cluster.replace(/\D+/, '')) >= 17
      if (isRecent)
        await sql.unsafe(`grant maintain on desk.person to "${keeper}"; grant pg_maintain to "${maintainer}"`)
      const found = (await look()).filter(({ code }) => code === 'FailingRow')
      assert.equal(found.length, 1)
      assert.equal(found[0]?.severity, 'medium')
      const expected = isRecent ? [holder, keeper, maintainer] : [holder]
      assert.deepEqual(
        found[0]?.roles.filter((role) => [keeper, holder, maintainer, reader].includes(role)),
        expected,
      )
      assert.match(await readError(target, 'holder', 'reindex schema desk'), new RegExp(canary))
      if (isRecent)
        for (const name of ['keeper', 'maintainer'])
          assert.match(await readError(target, name, 'reindex index desk.once'), new RegExp(canary))
      assert.equal(found[0]?.remedy, 'DROP INDEX desk.once')
      await sql.unsafe(found[0]?.remedy ?? '')
      assert.deepEqual(await look(), [])
      assert.doesNotMatch(await readError(target, 'holder', 'reindex schema desk'), new RegExp(canary))
    },
  )

  clause(
    'ENF-471',
    'A masked role that is a member of pg_read_all_settings, so of pg_monitor too, is listed as high (`ReplicationPassword`) where…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      const direct = await target.createRole('direct')
      const monitor = await target.createRole('monitor')
      const reader = await target.createRole('reader')
      await sql.unsafe(`create table public.person (id int, email text); grant pg_read_all_settings to "${direct}"; grant pg_monitor to "${monitor}";
        grant select on public.person to "${reader}"`)
      const wanted = policy([rule('public.person.email')])
      await reconcile(target.database, wanted)
      const look = async () =>
        (await findExposures(target.database, wanted)).filter(({ code }) => code === 'ReplicationPassword')
      const set = async (value: string) => {
        await sql.unsafe(`alter system set primary_conninfo = '${value}'`)
        await sql`select pg_reload_conf()`
        // A reload reaches each session by itself: a new one has the value after the others were told.
        await waitUntil('the setting counts', async () => {
          const [fresh] = await target.runAs('direct', 'show primary_conninfo')
          const [own] = await sql<{ value: string }[]>`select current_setting('primary_conninfo') as value`
          return fresh?.primary_conninfo === value && own?.value === value
        })
      }
      try {
        for (const value of ['host=a user=standby passfile=/a/b', 'postgresql://standby@a:5432/'])
          await set(value).then(async () => assert.deepEqual(await look(), []))
        for (const value of ['host=a user=standby password=oracle', 'postgresql://standby:oracle@a:5432/']) {
          await set(value)
          const found = await look()
          assert.equal(found.length, 1)
          assert.equal(found[0]?.severity, 'high')
          assert.doesNotMatch(JSON.stringify(found), /oracle/)
          const roles = found[0]?.roles ?? []
          assert.ok(roles.includes(direct) && roles.includes(monitor) && !roles.includes(reader))
        }
        for (const name of ['direct', 'monitor'])
          assert.match(JSON.stringify(await target.runAs(name, 'show primary_conninfo')), /oracle/)
        const remedies = (await look())[0]?.remedy?.split(';\n') ?? []
        assert.ok(!remedies.some((text) => /FROM "?pg_monitor/.test(text)))
        for (const text of remedies)
          if (text.includes(direct) || text.includes(monitor)) await sql.unsafe(text)
        const roles = (await look()).flatMap((one) => one.roles)
        assert.ok(!roles.includes(direct) && !roles.includes(monitor))
        for (const name of ['direct', 'monitor'])
          await assert.rejects(target.runAs(name, 'show primary_conninfo'))
      } finally {
        await sql.unsafe('alter system reset primary_conninfo')
        await sql`select pg_reload_conf()`
      }
    },
  )
})

/** The error of the server in its own words, which `Database` keeps values out of. */
async function readError(target: Target, role: string, statement: string): Promise<string> {
  const client = new pg.Client({ connectionString: target.urlOf(role) })
  await client.connect()
  return await client
    .query(statement)
    .then(
      () => 'nothing',
      (error: pg.DatabaseError) => `${error.message} ${error.detail}`,
    )
    .finally(() => client.end())
}
