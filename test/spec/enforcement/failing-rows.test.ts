import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import pg from 'pg'
import type { Exposure } from '../../../src/enforcement/exposures/exposure.ts'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zelda.canary@example.com'

/** A masked table with the rights of a masked role, and the statement whose error shows it the raw value. */
interface WriteCase {
  readonly what: string
  readonly table: string
  readonly setup: string
  readonly leak: string
  readonly from?: number
  /** Part of the statement that ends it. */
  readonly remedy?: RegExp
}

const row = (table: string, more = '') =>
  `create table public.${table} (id int primary key, name text not null, note text, secret text${more});
   insert into public.${table} (id, name, note, secret) values (1, 'n', 'hello', '${canary}')`

const mergeInto = (table: string) => `merge into public.${table} using (values (1)) v on true
  when matched and false then update set secret = 'x' when matched then update set name = null`

const isSecured = /^CREATE POLICY .*;\nALTER TABLE .* ENABLE ROW LEVEL SECURITY$/

const writeCases: readonly WriteCase[] = [
  {
    what: 'INSERT … ON CONFLICT DO UPDATE',
    table: 'upserted',
    setup: `${row('upserted')}; grant insert, update (name) on public.upserted to $analyst`,
    leak: `insert into public.upserted (id, name, secret) values (1, 'x', 'x') on conflict (id) do update set name = null`,
    remedy: isSecured,
  },
  {
    what: 'MERGE with a branch that inserts',
    table: 'merged',
    from: 150000,
    setup: `${row('merged')}; grant insert (secret), update (name) on public.merged to $analyst`,
    leak: `merge into public.merged using (values (1)) v on true when not matched then insert (secret) values ('x')
      when matched then update set name = null`,
    remedy: isSecured,
  },
  {
    what: 'MERGE with two branches that update',
    table: 'updated',
    from: 150000,
    setup: `${row('updated')}; grant update (name, secret) on public.updated to $crew`,
    leak: mergeInto('updated'),
    remedy: isSecured,
  },
  {
    what: 'MERGE into a view, without rights on the table',
    table: 'viewed',
    from: 170000,
    setup: `${row('viewed')}; create view public.pane as select * from public.viewed; grant insert, update on public.pane to $analyst`,
    leak: mergeInto('pane'),
    remedy: isSecured,
  },
  {
    what: 'DEFAULT for a generated column',
    table: 'generated',
    setup: `${row('generated', ', low text generated always as (lower(secret)) stored')};
      grant update (name, low) on public.generated to $analyst`,
    leak: 'update public.generated set low = default, name = null',
    remedy: isSecured,
  },
  {
    what: 'an element of an array, and a check option of a view of the role',
    table: 'parted',
    setup: `create table public.parted (id int, note text, secret text[]); insert into public.parted values (1, 'hello', '{${canary}}');
      grant update (secret, note) on public.parted to $analyst`,
    leak: `create temp view own as select id, note, secret from public.parted where note = 'hello' with check option;
      update own set secret[2] = 'x', note = 'other'`,
    remedy: isSecured,
  },
  {
    what: 'a trigger that puts the former value back',
    table: 'kept',
    setup: `${row('kept')}; grant update (secret, name) on public.kept to $analyst;
      create function public.keep() returns trigger language plpgsql as $f$ begin new.secret := old.secret; return new; end $f$;
      create trigger keep before update on public.kept for each row execute function public.keep()`,
    leak: `update public.kept set secret = 'x', name = null`,
    remedy: isSecured,
  },
  {
    what: 'a partition that is written by itself',
    table: 'split_1',
    setup: `create table public.split (id int not null, name text not null, secret text[]) partition by list (id);
      create table public.split_1 partition of public.split for values in (1); insert into public.split values (1, 'n', '{${canary}}');
      create policy every_row on public.split using (true); alter table public.split enable row level security;
      grant update on public.split, public.split_1 to $analyst`,
    leak: `update public.split_1 set secret[2] = 'x', name = null`,
    remedy: isSecured,
  },
  {
    what: 'a role with BYPASSRLS under row security',
    table: 'bypassed',
    setup: `${row('bypassed', ', low text generated always as (lower(secret)) stored')};
      alter table public.bypassed enable row level security; create policy every_row on public.bypassed using (true);
      grant update on public.bypassed to $bypasser`,
    leak: 'set role $bypasser; update public.bypassed set low = default, name = null',
    remedy: /^REVOKE UPDATE/,
  },
  {
    what: 'row policies that do not count yet',
    table: 'planned',
    setup: `${row('planned', ', low text generated always as (lower(secret)) stored')};
      create policy none on public.planned as restrictive using (false); grant update on public.planned to $analyst`,
    leak: 'update public.planned set low = default, name = null',
    remedy: /^REVOKE UPDATE/,
  },
  {
    what: 'a foreign table',
    table: 'far',
    setup: `${row('near')}; create extension postgres_fdw;
      create server loop foreign data wrapper postgres_fdw options (host '127.0.0.1', port '@port', dbname '@database');
      create user mapping for public server loop options (user '@user', password '@password');
      create foreign table public.far (id int, name text, note text, secret text) server loop options (table_name 'near');
      grant update (name) on public.far to public`,
    leak: 'update public.far set name = null',
    remedy: /^REVOKE UPDATE/,
  },
]

const payments = (table: string, key: string) =>
  `create table public.${table} (id int primary key, account int ${key}, secret text);
   insert into public.${table} values (1, 1, '${canary}')`

const accounts = (table: string) =>
  `create table public.${table} (id int primary key, number int unique, note text); insert into public.${table} values (1, 1, 'x')`

const keyCases: readonly WriteCase[] = [
  {
    what: 'ON UPDATE CASCADE under a check, with row security',
    table: 'cascaded',
    setup: `${accounts('a1')}; ${payments('cascaded', 'references public.a1 on update cascade check (account > 0)')};
      alter table public.cascaded enable row level security; create policy every_row on public.cascaded using (true);
      grant update (id) on public.a1 to $analyst`,
    leak: 'update public.a1 set id = -1',
  },
  {
    what: 'ON DELETE SET NULL under NOT NULL, through a view',
    table: 'nulled',
    setup: `${accounts('a2')}; ${payments('nulled', 'not null references public.a2 on delete set null')};
      create view public.a2_notes as select note from public.a2; grant delete on public.a2_notes to $analyst`,
    leak: 'delete from public.a2_notes',
  },
  {
    what: 'ON UPDATE CASCADE of a nullable key under NOT NULL',
    table: 'renumbered',
    setup: `${accounts('a3')}; ${payments('renumbered', 'not null references public.a3 (number) on update cascade')};
      grant update on public.a3 to $crew`,
    leak: 'update public.a3 set number = null',
  },
  {
    what: 'a key behind another key that deletes',
    table: 'behind',
    setup: `${accounts('a4')}; create table public.b4 (id int primary key, account int references public.a4 on delete cascade);
      insert into public.b4 values (1, 1);
      ${payments('behind', 'not null references public.b4 on delete set default')}; grant delete on public.a4 to public`,
    leak: 'delete from public.a4',
  },
  {
    what: 'a check that is not valid, in a partition',
    table: 'divided',
    setup: `${accounts('a5')}; create table public.divided (id int, account int references public.a5 on delete set null, secret text) partition by list (id);
      create table public.divided_1 partition of public.divided for values in (1); insert into public.divided values (1, 1, '${canary}');
      alter table public.divided_1 add check (id > 1) not valid; grant delete on public.a5 to $analyst`,
    leak: 'delete from public.a5',
  },
  {
    what: 'a table of the masked role that a masked table refers to',
    table: 'owned',
    setup: `${accounts('a6')}; ${payments('owned', 'references public.a6 on update cascade check (account > 0)')};
      alter table public.a6 owner to $analyst`,
    leak: 'update public.a6 set id = -1',
    remedy: /DROP CONSTRAINT/,
  },
]

/** Rights by which no error shows a raw value. */
const harmless = `
  ${row('inserted')}; grant insert on public.inserted to $analyst;
  ${row('aside')}; grant update (name, note) on public.aside to $analyst;
  create view public.aside_view as select * from public.aside; grant insert (id), update (name, note) on public.aside_view to $analyst;
  ${row('single')}; grant update (secret) on public.single to $analyst;
  ${row('guarded')}; grant insert, update on public.guarded to $analyst;
  alter table public.guarded enable row level security; create policy every_row on public.guarded using (true);
  ${row('spared')}; grant insert, update on public.spared to $auditor;
  ${accounts('a7')}; ${payments('dropped', 'not null references public.a7 on delete cascade on update no action check (account > 0)')};
  ${accounts('a8')}; ${payments('loose', 'references public.a8 on delete set null on update cascade')};
  alter table public.loose add check (id > 0), add check (secret like '%@%');
  ${accounts('a9')}; ${payments('unreached', 'references public.a9 on update cascade check (account > 0)')}; grant update (note), insert on public.a9 to $analyst;
  grant update, delete on public.a7, public.a8 to $analyst`

const several = (table: string) =>
  `create table public.${table} (id int primary key, name text not null, "e mail" text, phone text, tags text[], ssn text);
   insert into public.${table} values (1, 'n', 'mail-canary', 'phone-canary', '{tags-canary}', 'ssn-canary')`

/** Masked roles that may write some of the masked columns of a table, and those of which an error shows them the value. */
const partCases = [
  {
    table: 'some',
    setup: `grant insert (id, name, "e mail"), update (name, "e mail", tags) on public.some to $analyst`,
    leak: `insert into public.some (id, name, "e mail") values (1, 'x', 'x') on conflict (id) do update set name = null, tags[2] = 'x'`,
    shown: { analyst: ['mail', 'tags'] },
  },
  {
    table: 'behind_views',
    setup: `create view public.first_view as select ssn, "e mail" as "the \\mail", name, id, phone as p from public.behind_views;
      create view public.second_view as select p, "the \\mail" as address, name, id from public.first_view;
      grant insert (address), update (name) on public.second_view to $analyst`,
    from: 170000,
    leak: `merge into public.second_view using (values (1)) v on true when not matched then insert (address) values ('x')
      when matched then update set name = null`,
    shown: { analyst: ['mail'] },
  },
  {
    table: 'by_rule',
    setup: `create view public.ruled as select id, name, phone from public.by_rule; grant insert, update on public.ruled to $analyst;
      create rule "write" as on update to public.ruled do instead
        update public.by_rule set name = new.name, tags[2] = 'x' where id = old.id`,
    leak: 'update public.ruled set name = null',
    shown: { analyst: ['tags'] },
    // The rule may name any.
    named: ['mail', 'phone', 'tags', 'ssn'],
  },
  {
    table: 'by_role',
    setup: `grant insert (id, name, phone), update (name) on public.by_role to $crew;
      grant insert (ssn), update (name) on public.by_role to $clerk`,
    leak: `insert into public.by_role (id, name, phone) values (1, 'x', 'x') on conflict (id) do update set name = null`,
    shown: { analyst: ['phone'], clerk: ['ssn'] },
  },
]

const kept = [
  'inserted',
  'aside',
  'single',
  'guarded',
  'spared',
  'dropped',
  'loose',
  'unreached',
  'near',
  'split',
]

forEachCluster((cluster) => {
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let wanted: ReturnType<typeof policy>
  let listed: readonly Exposure[]
  const version = Number(cluster.replace(/\D+/, '')) * 10_000
  const isHere = ({ from = 0 }: WriteCase) => version >= from
  const written = writeCases.filter(isHere)
  const about = (found: readonly Exposure[], table: string) =>
    found.filter(({ objects: [first] }) => first?.name === `"public"."${table}"`)
  const look = async () =>
    (await findExposures(target.database, wanted)).filter(({ code }) => code === 'FailingRow')
  const fill = (text: string) => {
    const place = new URL(target.url)
    return text
      .replaceAll('@port', place.port)
      .replaceAll('@user', place.username)
      .replaceAll('@password', decodeURIComponent(place.password))
      .replaceAll('@database', place.pathname.slice(1))
      .replaceAll(/\$(analyst|crew|bypasser|auditor|clerk)\b/g, (_, name: string) => `"${target.role(name)}"`)
  }
  /** The error of the server with its detail, which `Database` keeps values out of. Undone afterwards. */
  const provoke = async (statements: string): Promise<string> => {
    const client = new pg.Client({ connectionString: target.urlOf('analyst') })
    await client.connect()
    try {
      await client.query(`begin; ${fill(statements)}; rollback`)
      return 'no error'
    } catch (error) {
      const { message, detail } = error as pg.DatabaseError
      return `${message} ${detail}`
    } finally {
      await client.end()
    }
  }
  const checkListed = async (cases: readonly WriteCase[]) => {
    for (const { what, table, leak, remedy } of cases) {
      assert.match(await provoke(leak), new RegExp(canary), what)
      const [found, ...more] = about(listed, table)
      assert.ok(found, `${what} is listed`)
      assert.deepEqual(more, [], what)
      assert.equal(found.severity, 'high')
      assert.ok(found.roles.includes(target.role('analyst')), what)
      assert.ok(!found.roles.includes(target.role('auditor')), what)
      assert.match(found.remedy ?? '', remedy ?? /^REVOKE (DELETE|UPDATE)/, what)
      assert.notEqual(found.consequences, null)
    }
  }
  const checkClosed = async (cases: readonly WriteCase[]) => {
    for (const { table } of cases)
      for (const { remedy } of about(listed, table)) await target.database.sql.unsafe(remedy ?? '')
    const open = await look()
    for (const { what, table, leak } of cases) {
      assert.deepEqual(about(open, table), [], `${what} is closed`)
      assert.doesNotMatch(await provoke(leak), new RegExp(canary), what)
    }
  }

  before(async () => {
    target = await createMaskedDatabase(cluster)
    const { sql } = target.database
    for (const name of ['analyst', 'auditor', 'clerk']) await target.createRole(name)
    await target.createRole('crew', 'NOLOGIN')
    await target.createRole('bypasser', 'NOLOGIN BYPASSRLS')
    await sql.unsafe(fill('grant $crew, $bypasser to $analyst'))
    const all = [...written, ...keyCases]
    for (const { setup } of all) await sql.unsafe(fill(setup))
    for (const { table, setup } of partCases) await sql.unsafe(fill(`${several(table)}; ${setup}`))
    await sql.unsafe(fill(harmless))
    await sql.unsafe(fill('grant select on all tables in schema public to $analyst, $auditor'))
    const tables = [...all.map(({ table }) => (table === 'split_1' ? 'split' : table)), ...kept]
    const masked = ['e mail', 'phone', 'tags', 'ssn']
    wanted = policy(
      [
        ...[...new Set(tables)].map((table) => rule(`public.${table}.secret`)),
        ...partCases.flatMap(({ table }) => masked.map((column) => rule(`public.${table}.${column}`))),
      ],
      [target.role('auditor')],
    )
    await reconcile(target.database, wanted)
    listed = await look()
  })
  after(() => target[Symbol.asyncDispose]())

  clause(
    'ENF-322',
    'A masked role that can have PostgreSQL print a raw value in the error about a row that it writes is listed as high…',
    () => checkListed(written),
  )

  clause(
    'ENF-323',
    'A foreign key with CASCADE, SET NULL or SET DEFAULT is listed as high (`FailingRow`) where a masked role may make the change that…',
    async () => {
      await checkListed(keyCases)
      for (const table of ['dropped', 'loose', 'unreached']) assert.deepEqual(about(listed, table), [], table)
      await checkClosed(keyCases)
    },
  )

  clause(
    'ENF-325',
    'Rights by which no error shows a raw value are not listed as `FailingRow`: INSERT alone, UPDATE of columns without a mask alone…',
    () => {
      for (const table of kept) assert.deepEqual(about(listed, table), [], table)
    },
  )

  clause(
    'ENF-329',
    'A `FailingRow` names the columns of which an error shows a value, and no other masked column of the table: for each role, where the…',
    async () => {
      const words = ['mail', 'phone', 'tags', 'ssn']
      for (const { table, leak, shown, named, from = 0 } of partCases) {
        if (version >= from) {
          const printed = await provoke(leak)
          const leaked = words.filter((word) => printed.includes(`${word}-canary`))
          assert.deepEqual(leaked, shown.analyst, printed)
        }
        const [found, ...more] = about(listed, table)
        assert.deepEqual(more, [])
        const { explanation = '', roles = [] } = found ?? {}
        const names = Object.keys(shown)
        assert.deepEqual([...roles].sort(), names.map((name) => target.role(name)).sort())
        for (const [name, columns] of Object.entries(shown)) {
          const groups = explanation.split(/\. (?=")/)
          const own =
            names.length === 1 ? explanation : groups.find((text) => text.includes(target.role(name)))
          assert.deepEqual(
            words.filter((word) => own?.includes(word)),
            named ?? columns,
            explanation,
          )
        }
      }
      // A foreign key prints whole rows.
      assert.match(about(listed, 'cascaded')[0]?.explanation ?? '', /prints the whole row/)
    },
  )

  clause(
    'ENF-324',
    'Row security with a policy that allows every row ends what ENF-322 lists, for roles that cannot act with BYPASSRLS, and it is the…',
    async () => {
      await checkClosed(written)
      const { steps } = await reconcile(target.database, wanted)
      assert.deepEqual(steps, [])
      const read = async (role: string, schema: string) =>
        (await target.runAs(role, `select secret from ${schema}.upserted`)).map(({ secret }) => secret)
      assert.deepEqual(await read('analyst', 'masked_public'), ['XXXX'])
      assert.deepEqual(await read('auditor', 'public'), [canary])
    },
  )
})
