import assert from 'node:assert/strict'
import pg from 'pg'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import type { ClusterName } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster, hasAllVariants } from '../../support/postgres.ts'

const canary = 'zqcanary'

/**
 * `app.person` is of the role owner; clerk and mallory are masked, auditor is exempt. Each of owner, auditor and mallory has a view
 * over the twin: `app.list`, `desk.list` and `lair.list`.
 */
async function prepare(cluster: ClusterName, isSuperuser: boolean) {
  const target = await createMaskedDatabase(cluster)
  const owner = await target.createRole('owner', 'LOGIN')
  const auditor = await target.createRole('auditor')
  const mallory = await target.createRole('mallory')
  const clerk = await target.createRole('clerk')
  const binder = await target.createRole('binder', 'LOGIN NOINHERIT CREATEROLE')
  const database = target.url.replace(/^.*\//, '')
  const run = (text: string) => target.database.sql.unsafe(text)
  await run(`create schema app authorization "${binder}"; grant usage on schema app to public; grant create on schema app to "${owner}";
    create schema lair authorization "${mallory}"; grant usage on schema lair to public;
    create schema desk authorization "${auditor}"; grant usage on schema desk to public;
    create domain app.number as text; grant usage on schema app to public;
    create table app.person (id int, mail text, phone app.number, city text);
    insert into app.person values (1, '${canary}', '${canary}', 'Rome');
    alter table app.person owner to "${owner}"; grant select on app.person to "${mallory}", "${auditor}", "${clerk}";
    grant create on database "${database}" to "${binder}"; grant "${owner}" to "${binder}"`)
  const binding = isSuperuser ? target.database : target.connectAs('binder')
  const runAs = (name: string, text: string) => target.runAs(name, text)
  /** As a client reads: our own errors carry no text of PostgreSQL about values. */
  const read = async (name: string, text: string): Promise<string> => {
    const client = new pg.Client({ connectionString: target.urlOf(name) })
    await client.connect()
    try {
      return JSON.stringify((await client.query(text)).rows)
    } catch (error) {
      return String(error)
    } finally {
      await client.end()
    }
  }
  const base = policy([rule('app.person.mail')], [auditor])
  const mask = (change: Partial<typeof base> = {}) => reconcile(binding, { ...base, ...change })
  await mask()
  const views: readonly [string, string][] = [
    ['owner', 'app'],
    ['auditor', 'desk'],
    ['mallory', 'lair'],
  ]
  for (const [name, schema] of views)
    await runAs(
      name,
      `create view ${schema}.list as select * from masked_app.person; grant select on ${schema}.list to public`,
    )
  return {
    target,
    run,
    runAs,
    read,
    mask,
    auditor,
    /** What other roles see of a column through each of the views. */
    readViews: (column: string) =>
      Promise.all(views.map(([, schema]) => read('clerk', `select ${column} from ${schema}.list`))),
    async settles(change: Partial<typeof base> = {}) {
      assert.deepEqual((await mask(change)).steps, [])
    },
  }
}

const suspended = [{ schema: 'app', table: 'person' }]

const changes = [
  {
    what: 'a type',
    change: 'alter table app.person alter city type varchar(20)',
    columns: 'id, mail, phone, city',
  },
  {
    what: 'a collation',
    change: 'alter table app.person alter city type text collate "C"',
    columns: 'id, mail, phone, city',
  },
  { what: 'a dropped column', change: 'alter table app.person drop city', columns: 'id, mail, phone' },
  {
    what: 'the order',
    change: `alter table app.person drop phone; alter table app.person add phone text default '${canary}'`,
    columns: 'id, mail, city, phone',
  },
]

forEachCluster((cluster) => {
  const either = hasAllVariants(cluster) ? [false, true] : [false]

  clause(
    'ENF-300',
    'An object that another role built on a twin keeps no reader from the twin: where the columns of the table or view…',
    async () => {
      for (const isSuperuser of either)
        for (const { what, change, columns } of changes) {
          const one = await prepare(cluster, isSuperuser)
          await using _ = one.target
          const { notes } = await one.mask({ suspended })
          assert.ok(
            notes.some(({ code }) => code === 'TwinKept'),
            what,
          )
          await one.settles({ suspended })
          assert.match(await one.read('clerk', 'select mail from masked_app.person'), /create .* again/)
          await one.run(change)
          const again = await one.mask()
          assert.ok(
            again.notes.some(({ code }) => code === 'TwinKept'),
            what,
          )
          await one.settles()
          for (const name of ['clerk', 'mallory']) {
            assert.match(await one.read(name, `select ${columns} from masked_app.person`), /"mail":"XXXX"/)
            const [row] = await one.runAs(name, 'select * from masked_app.person')
            assert.deepEqual(Object.keys(row ?? {}), columns.split(', '))
            assert.match(await one.read(name, 'select mail from app.person'), /permission denied/)
          }
          assert.match(await one.read('auditor', 'select mail from app.person'), /zqcanary/)
          for (const answer of await one.readViews('*'))
            assert.match(answer, /masked_app.person.*again/, what)
          await one.run('drop view app.list, desk.list')
          await one.settles()
          await one.run('drop view lair.list')
          await one.mask()
          await one.settles()
          const left = await one.run(
            `select relname from pg_class where relnamespace = 'masked_app'::regnamespace`,
          )
          assert.deepEqual(left, [{ relname: 'person' }], what)
          await one.mask({ rules: [] })
          assert.deepEqual(await one.run(`select from pg_namespace where nspname like 'mas%'`), [])
        }
    },
  )

  clause(
    'ENF-300',
    'An object that another role built on a twin keeps no reader from the twin: where the columns of the table or view…',
    async () => {
      for (const isSuperuser of either) {
        const one = await prepare(cluster, isSuperuser)
        await using _ = one.target
        await one.runAs(
          'mallory',
          `create table lair.rows (one masked_app.person);
          create function lair.all_of() returns setof masked_app.person language sql as 'select * from masked_app.person'`,
        )
        // Under a mask a column of a domain has the type below it.
        const rules = [rule('app.person.mail'), rule('app.person.phone')]
        await one.mask({ rules })
        await one.settles({ rules })
        assert.match(await one.read('clerk', 'select * from masked_app.person'), /"phone":"XXXX"/)
        for (const answer of await one.readViews('phone')) assert.doesNotMatch(answer, /zqcanary/)
        assert.doesNotMatch(await one.read('mallory', 'select * from lair.all_of()'), /zqcanary/)
        assert.deepEqual(await one.run('select from lair.rows'), [])
      }
    },
  )

  clause(
    'ENF-300',
    'An object that another role built on a twin keeps no reader from the twin: where the columns of the table or view…',
    async () => {
      for (const isSuperuser of either)
        for (const isLocked of either) {
          const one = await prepare(cluster, isSuperuser)
          await using _ = one.target
          const contact = (columns: string) =>
            one.runAs(
              'owner',
              `create view app.contact as select ${columns} from app.person; grant select on app.contact to public`,
            )
          await one.runAs(
            'owner',
            `create table app.other (word text); insert into app.other values ('${canary}')`,
          )
          await contact('id, mail')
          await one.mask()
          await one.runAs('mallory', 'create view lair.contact as select * from masked_app.contact')
          await one.runAs('owner', 'drop view app.contact')
          await contact('mail, city, id')
          const rules = [rule('app.person.mail'), rule('app.other.word')]
          // A lock on one relation makes the turn go relation by relation.
          if (isLocked)
            await one.target.connectAs('owner').transaction(async (tx) => {
              await tx.unsafe('lock table app.other in access exclusive mode')
              await assert.rejects(one.mask({ rules }), /app.*other/)
              assert.match(
                await one.read('clerk', 'select * from masked_app.contact'),
                /"XXXX","city":"Rome"/,
              )
            })
          await one.mask({ rules })
          await one.settles({ rules })
          assert.match(await one.read('clerk', 'select * from masked_app.contact'), /"XXXX","city":"Rome"/)
          assert.doesNotMatch(await one.read('mallory', 'select * from lair.contact'), /zqcanary/)
        }
    },
  )

  clause(
    'ENF-301',
    'Views over a twin go on to work where its columns stay, are renamed or get others behind them, also after their table…',
    async () => {
      for (const isSuperuser of either) {
        const one = await prepare(cluster, isSuperuser)
        await using _ = one.target
        const shows = async (column: string, value: RegExp) => {
          for (const answer of await one.readViews(column)) assert.match(answer, value)
        }
        await one.run(`alter table app.person add note text default '${canary}'`)
        const rules = [rule('app.person.mail'), rule('app.person.note')]
        await one.mask({ rules })
        await one.settles({ rules })
        await shows('mail', /XXXX/)
        assert.match(await one.read('clerk', 'select note from masked_app.person'), /XXXX/)
        await one.run(
          'alter table app.person rename city to town; alter table app.person rename note to remark',
        )
        await one.run(`alter table app.person rename id to swap; alter table app.person rename mail to id;
          alter table app.person rename swap to mail`)
        const renamed = [rule('app.person.id'), rule('app.person.remark')]
        await one.mask({ rules: renamed })
        await one.settles({ rules: renamed })
        assert.deepEqual(await one.runAs('clerk', 'select * from masked_app.person'), [
          { mail: 1, id: 'XXXX', phone: canary, town: 'Rome', remark: 'XXXX' },
        ])
        await shows('mail', /XXXX/)
        await shows('city', /Rome/)
        await one.mask({ rules: renamed, suspended })
        await shows('mail', /again/)
        await one.run(`alter table app.person add extra text`)
        await one.mask({ rules: renamed })
        await one.settles({ rules: renamed })
        await shows('mail', /XXXX/)
        await shows('city', /Rome/)
      }
    },
  )
})
