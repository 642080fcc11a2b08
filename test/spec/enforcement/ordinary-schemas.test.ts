import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

/**
 * Tables, keys, views and grants as applications have them. Under row security errors show no row (ENF-324). `analyst` is masked and has a schema, `reader` is masked and has
 * none, `etl` is exempt.
 */
const shop = `
  revoke create on schema public from public;
  create table public.person (id int primary key, email text check (email like '%@%'), updated timestamptz default now());
  create index on public.person (lower(email));
  create policy every_row on public.person using (true); alter table public.person enable row level security;
  create table public.country (id int primary key, name varchar(20) unique);
  create table public.address (person int references public.person on delete cascade, country bigint references public.country on update cascade);
  create table public.note (text text);
  create function public.stamp() returns trigger language plpgsql as 'begin new.updated := now(); return new; end';
  create trigger stamp before update on public.person for each row execute function public.stamp();
  create view public.names as select id, name from public.country;
  grant select, insert, update, delete on all tables in schema public to $analyst;
  grant references on public.note to $analyst;
  grant references (updated) on public.person to $analyst;
  grant references on public.country to $reader;
  grant references (id) on public.country to $analyst;
  set role $analyst;
  create table own.visit (country bigint references public.country (id) on delete no action);
  create table own.day (visit int primary key); create table own.hour (visit int references own.day on delete cascade);
  reset role;
  revoke references (id) on public.country from $analyst;
  create domain public.code as text check (value <> ''); create table public.product (code public.code, codes public.code[]);
  create function public.fits(public.country) returns boolean immutable language sql as 'select true';
  alter table public.country add check (public.fits(country));
  set role $analyst;
  create domain own.code as text; create function own.fits(own.day) returns boolean immutable language sql as 'select true';
  alter table own.day add code own.code, add check (own.fits(day));
  reset role;
  create view public.days as select visit from own.day;
  grant select on public.country, own.day to $etl; grant usage on schema own to $etl;
  create schema load authorization $etl; set role $etl;
  create table load.batch (id int primary key, country int default 1); create view load.countries as select * from public.country;
  create view load.batches as select id from load.batch; reset role; grant select, insert on load.batch to $analyst`

forEachCluster((cluster) => {
  clause(
    'ENF-222',
    'Ordinary schemas have none of these: REFERENCES on a table without a key, or of a role that can have no table, keys between…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { database } = target
      const analyst = await target.createRole('analyst')
      const reader = await target.createRole('reader')
      await database.sql.unsafe(`create schema own authorization "${analyst}"`)
      const etl = await target.createRole('etl')
      await database.sql.unsafe(shop.replaceAll(/\$([a-z]+)/g, (_, name: string) => `"${target.role(name)}"`))
      const wanted = policy([rule('public.person.email')], [etl])
      await reconcile(database, wanted)
      const found = await findExposures(database, wanted)
      const own = found.filter(({ roles }) => roles.includes(analyst) || roles.includes(reader))
      assert.deepEqual(
        own.map(({ code, objects }) => ({ code, objects })),
        [],
      )
    },
  )

  clause(
    'ENF-420',
    'Functions whose names lead to no code of a masked role are listed neither as `DefinerSearchPath` nor as `DefinerCode`: …',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { database } = target
      const analyst = await target.createRole('analyst')
      await database.sql.unsafe(`revoke create on schema public from public; create schema own authorization "${analyst}";
        create table public.person (id int, email text); create table public.line (a int); create table own.line (a int);
        alter table own.line owner to "${analyst}";
        create function public.bound() returns int language sql security definer return (select max(a) from public.line);
        create function public.pinned() returns int language plpgsql security definer as
          'begin return (select max(a) from line); end' set search_path = public, pg_temp;
        create function public.called() returns int language sql security definer return public.pinned();
        create function public.closed() returns int language plpgsql security definer as 'begin return (select max(a) from own.line); end';
        revoke execute on function public.closed() from public;
        create function public.plain() returns int language plpgsql as 'begin return (select max(a) from own.line); end';
        create function public.stamp() returns trigger language plpgsql security definer as 'begin return new; end';
        revoke execute on function public.stamp() from public;
        create trigger stamp before insert on public.line for each row execute function public.stamp();
        grant select on public.line to "${analyst}"`)
      const wanted = policy([rule('public.person.email')])
      await reconcile(database, wanted)
      const look = async () =>
        (await findExposures(database, wanted))
          .filter(({ code }) => code === 'DefinerSearchPath' || code === 'DefinerCode')
          .map(({ code, objects }) => ({ code, objects }))
      assert.deepEqual(await look(), [])
      await database.sql.unsafe(
        `grant execute on function public.closed() to "${analyst}"; grant insert on public.line to "${analyst}"`,
      )
      assert.deepEqual(
        (await look()).map(({ code, objects }) => [code, ...objects.map(({ name }) => name)]),
        [
          ['DefinerSearchPath', 'public.closed()', 'public.stamp()'],
          ['DefinerCode', 'own.line', 'public.closed()'],
        ],
      )
    },
  )

  clause(
    'ENF-468',
    'Functions whose names lead to no object of a masked role, or that get no raw value which the role did not write, are not listed as…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { database } = target
      const analyst = await target.createRole('analyst')
      await database.sql.unsafe(`revoke create on schema public from public;
        create table public.person (id int, email text, note text, at timestamptz);
        create function public.bound(t text) returns boolean language sql immutable return lower(t) <> '';
        create function public.pinned(t text) returns boolean language plpgsql immutable as 'begin return lower(t) <> ''''; end'
          set search_path = public, pg_temp;
        create function public.called(t text) returns boolean language sql immutable return public.pinned(t);
        create function public.loose(t text) returns boolean language plpgsql immutable as 'begin return lower(t) <> ''''; end';
        alter table public.person add check (public.bound(email)), add check (public.called(email)), add check (public.loose(note)),
          alter email set default public.loose('x');
        create index on public.person (md5(email)) where public.pinned(email);
        create policy all_rows on public.person using (public.pinned(email)); create policy new_rows on public.person for insert with check (public.loose(email));
        create policy others on public.person for update to "${analyst}" using (true) with check (public.loose(note));
        alter table public.person enable row level security;
        create function public.stamp() returns trigger language plpgsql as 'begin new.at := now(); if new.note is distinct from old.note then new.note := lower(new.note); end if; return new; end';
        create trigger stamp before update on public.person for each row execute function public.stamp();
        create function public.fill() returns trigger language plpgsql as 'begin new.email := lower(new.email); return new; end';
        create trigger fill before insert on public.person for each row execute function public.fill();
        create function public.lowered() returns trigger language plpgsql as 'begin perform lower(old.email); return new; end';
        create table public.closed (id int, email text, check (public.loose(email)));
        create table public.doc (id int); alter table public.doc enable row level security, force row level security;
        create policy noted on public.doc using (exists (select from public.person p where p.id = doc.id and public.loose(p.note)));
        create policy mailed on public.doc for select using (exists (select from public.person p where p.id = doc.id and public.loose(p.email)));
        create policy bound on public.closed using (exists (select from public.person p where p.id = closed.id and public.bound(p.email)));
        create view public.docs with (security_barrier) as select id from public.doc; grant select on public.doc to "${analyst}";
        create trigger lowered before update on public.closed for each row execute function public.lowered();
        grant select, insert on public.closed to "${analyst}"; grant select, insert, update (note, at), delete on public.person to "${analyst}"`)
      const wanted = policy([rule('public.person.email'), rule('public.closed.email')])
      await reconcile(database, wanted)
      const look = async () =>
        (await findExposures(database, wanted))
          .filter(({ code }) => code === 'RoutineSearchPath')
          .map(({ objects }) => objects.map(({ name }) => name))
      // A role that reads the other table itself has no right to what its policy reads.
      assert.deepEqual(await look(), [])
      await database.sql.unsafe(`grant select on public.docs to "${analyst}"`)
      assert.deepEqual(await look(), [['public.loose(text)', '"public"."doc"']])
      await database.sql.unsafe(`drop view public.docs`)
      await database.sql.unsafe(`grant update (id) on public.closed to "${analyst}"`)
      assert.deepEqual(await look(), [['public.loose(text)', 'public.lowered()', '"public"."closed"']])
    },
  )

  test('the sample shop has none either', async () => {
    await using target = await createMaskedDatabase(cluster)
    const { database } = target
    const analyst = await target.createRole('analyst')
    await database.sql.unsafe(readFileSync(new URL('../../../src/sample/shop.sql', import.meta.url), 'utf8'))
    await database.sql.unsafe(`grant select on all tables in schema public to "${analyst}"`)
    const wanted = policy([rule('public.customers.email')])
    await reconcile(database, wanted)
    const found = await findExposures(database, wanted)
    const own = found.filter(({ roles, severity }) => roles.includes(analyst) && severity !== 'low')
    assert.deepEqual(
      own.map(({ code, objects }) => ({ code, objects })),
      [],
    )
  })
})
