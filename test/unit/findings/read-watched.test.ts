import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readWatched } from '../../../src/findings/per-role/read-watched.ts'
import { guardSchema } from '../../../src/masks/names.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const mail = 'public.people.mail'
const pay = 'public.people.pay'
const kept = 'public.kept.pay'

forEachCluster((cluster) => {
  describe('relations that show masked columns', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let [analyst = '', auditor = '']: string[] = []
    const run = (text: string) => target.database.sql.unsafe(text)
    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      auditor = await target.createRole('auditor')
      await run(`
        create table public.people (gone text, id int primary key, name text, mail text, pay int);
        alter table public.people drop column gone;
        create table public."Odd One" (id int, "e.mail" text);
        create table public.logs (id int, mail text) partition by range (id);
        create table public.logs_1 partition of public.logs for values from (0) to (10);
        create view public.names as select id, name from public.people;
        create view public.mails as select id, mail from public.people;
        create view public.rows as select p, p.id from public.people p;
        create view public.deep as select count(*) as n from public.mails where mail is not null;
        create materialized view public.kept as select pay from public.people;
        create view public.both as select m.mail, k.pay from public.mails m, public.kept k;
        grant select on all tables in schema public to "${analyst}", "${auditor}";
        grant usage, create on schema public to "${analyst}"`)
      const rules = [mail, pay, 'public.Odd One.e.mail', 'public.logs.mail'].map((column) => rule(column))
      const odd = { ...rule('public.Odd One.x'), column: 'e.mail' }
      await takeTurn(
        target.database,
        policy([...rules.filter(({ table }) => table !== 'Odd One'), odd], [auditor]),
      )
      // As the gateway leaves it when a masked role creates a view.
      await target
        .connectAs('analyst')
        .sql.unsafe('create view public.own as select mail, pay from masked_public.people')
      await run(`grant select on public.own to "${auditor}"`)
    })
    after(() => target[Symbol.asyncDispose]())

    /** Without TOAST tables, and relations that show masked columns in errors alone. */
    async function watch(role: string): Promise<Record<string, string[]>> {
      const all = (await readWatched(target.database.sql, [role], guardSchema)).get(role)?.watched ?? []
      const found = all.filter(
        ({ schema, masked, shows }) => schema !== 'pg_toast' && masked.length + shows.length > 0,
      )
      return Object.fromEntries(
        found.map(({ schema, name, masked, shows }) => [
          `${schema}.${name}`,
          [
            ...masked.map(({ column, attribute, isRaw }) => `${isRaw ? 'raw ' : ''}${attribute}=${column}`),
            ...shows.map(({ column, isRaw }) => `${isRaw ? 'raw ' : ''}${column}`).sort(),
          ],
        ]),
      )
    }

    const asMasked = {
      'public.people': [`mail=${mail}`, `pay=${pay}`],
      'public.Odd One': ['e.mail=public."Odd One"."e.mail"'],
      'public.logs': ['mail=public.logs.mail'],
      'public.logs_1': ['mail=public.logs_1.mail'],
      'public.mails': [mail],
      'public.rows': [mail, pay],
      'public.deep': [mail],
      // The rows of a materialized view may be from before: all of its columns count.
      'public.kept': [`pay=${kept}`, pay],
      'public.both': [kept, mail, pay],
    }
    const twins = {
      'masked_public.people': asMasked['public.people'],
      'masked_public.Odd One': asMasked['public.Odd One'],
      'masked_public.logs': asMasked['public.logs'],
      'masked_public.logs_1': asMasked['public.logs_1'],
      'masked_public.mails': [mail],
      'masked_public.rows': [mail, pay],
      'masked_public.deep': [mail],
      'masked_public.kept': [pay],
      'masked_public.both': [mail, pay],
      'public.own': [mail, pay],
    }

    test('a masked role sees nothing raw', async () => {
      assert.deepEqual(sorted(await watch(analyst)), sorted({ ...asMasked, ...twins }))
    })

    test('who is exempt, and a superuser, sees all raw but the twins and what reads them', async () => {
      const raw = Object.fromEntries(
        Object.entries(asMasked).map(([name, columns]) => [name, columns.map((column) => `raw ${column}`)]),
      )
      const columns = [kept, mail, pay, 'public."Odd One"."e.mail"', 'public.logs.mail', 'public.logs_1.mail']
      const sampled = columns.map((column) => `raw ${column}`).sort()
      const listed = (names: string[]) =>
        Object.fromEntries(names.map((name) => [`pg_catalog.${name}`, sampled]))
      const shared = { ...raw, ...twins, ...listed(['pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs']) }
      const [superuser] = await target.database.sql<{ name: string }[]>`select current_user as name`
      assert.deepEqual(sorted(await watch(auditor)), sorted(shared))
      assert.deepEqual(
        sorted(await watch(superuser?.name ?? '')),
        sorted({ ...shared, ...listed(['pg_statistic', 'pg_statistic_ext_data']) }),
      )
    })

    test('a role that can set an exempt one, at any distance, may see what that sees', async () => {
      const [far, near, other] = [
        await target.createRole('far', 'NOINHERIT'),
        await target.createRole('near', 'NOINHERIT'),
        await target.createRole('other', 'NOINHERIT'),
      ]
      await run(
        `grant "${near}" to "${far}"; grant "${auditor}" to "${near}"; grant "${analyst}" to "${other}"`,
      )
      const seen = await watch(auditor)
      assert.deepEqual(await watch(far), seen)
      assert.deepEqual(await watch(near), seen)
      assert.deepEqual(await watch(other), await watch(analyst))
      const [server] = await target.database.sql`select current_setting('server_version_num')::int as version`
      if (server?.version < 160000) return
      await run(
        `revoke "${auditor}" from "${near}"; grant "${auditor}" to "${near}" with set false, inherit false`,
      )
      assert.deepEqual(await watch(near), await watch(analyst), 'a member that can do nothing')
      await run(`grant "${auditor}" to "${near}" with admin true`)
      assert.deepEqual(await watch(near), seen, 'a member that can grant itself more')
    })

    test('columns are all there in order where one of them is masked', async () => {
      const found =
        (await readWatched(target.database.sql, [analyst], guardSchema)).get(analyst)?.watched ?? []
      const people = found.filter(({ name }) => name === 'people').map(({ attributes }) => attributes)
      assert.deepEqual(people, [
        ['id', 'name', 'mail', 'pay'],
        ['id', 'name', 'mail', 'pay'],
      ])
    })

    test('a change of what is there or of who may see it shows in the digest', async () => {
      const digest = async () =>
        (await readWatched(target.database.sql, [analyst], guardSchema)).get(analyst)?.watchedDigest
      const first = await digest()
      assert.equal(await digest(), first)
      await run('create view public.more as select mail from public.people')
      const second = await digest()
      assert.notEqual(second, first)
      await run(`grant select on public.more to "${analyst}"`)
      assert.notEqual(await digest(), second)
      await run('drop view public.more')
      assert.equal(await digest(), first)
    })
  })
})

function sorted(record: Record<string, string[]>): [string, string[]][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))
}
