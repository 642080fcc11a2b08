import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { findExposures } from '../../../src/findings/exposures/find-exposures.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  clause(
    'ENF-420',
    'Not listed as `RoutineSearchPath`: a body in standard SQL, functions in C, a path of safe schemas that ends with `pg_temp`…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { database } = target
      const analyst = await target.createRole('analyst')
      await database.sql.unsafe(`revoke create on schema public from public; create schema own authorization "${analyst}";
        create table public.person (id int, email text, note text, at timestamptz); create table public.line (a int);
        create function public.bound() returns int language sql security definer return (select max(a) from public.line);
        create function public.pinned() returns int language plpgsql security definer as
          'begin return (select max(a) from line); end' set search_path = public, pg_temp;
        create function public.called() returns int language sql security definer return public.pinned();
        create function public.closed() returns int language plpgsql security definer as 'begin return (select max(a) from line); end';
        revoke execute on function public.closed() from public;
        create function public.plain() returns int language plpgsql as 'begin return (select max(a) from line); end';
        create function public.fits(t text) returns boolean language sql immutable return lower(t) <> '';
        create function public.loose(t text) returns boolean language plpgsql immutable as 'begin return lower(t) <> ''''; end';
        alter table public.person add check (public.fits(email)), add check (public.loose(note)), alter email set default public.loose('x');
        create index on public.person (md5(email));
        create function public.stamp() returns trigger language plpgsql as 'begin new.at := now(); if new.note is distinct from old.note then new.note := lower(new.note); end if; return new; end';
        create trigger stamp before update on public.person for each row execute function public.stamp();
        create function public.fill() returns trigger language plpgsql as 'begin new.email := lower(new.email); return new; end';
        create trigger fill before insert on public.person for each row execute function public.fill()`)
      const wanted = policy([rule('public.person.email')])
      await takeTurn(database, wanted)
      const look = async () =>
        (await findExposures(database, wanted))
          .filter(({ code }) => code === 'RoutineSearchPath')
          .map(({ objects }) => objects.map(({ name }) => name))
      assert.deepEqual(await look(), [])
      await database.sql.unsafe(`grant execute on function public.closed() to "${analyst}";
        alter table public.person add check (public.loose(email))`)
      assert.deepEqual(await look(), [['public.closed()', 'public.loose(text)']])
    },
  )

  test('the sample shop has none', async () => {
    await using target = await createMaskedDatabase(cluster)
    const { database } = target
    const analyst = await target.createRole('analyst')
    await database.sql.unsafe(readFileSync(new URL('../../../src/sample/shop.sql', import.meta.url), 'utf8'))
    await database.sql.unsafe(`grant select on all tables in schema public to "${analyst}"`)
    const wanted = policy([rule('public.customers.email')])
    await takeTurn(database, wanted)
    const found = await findExposures(database, wanted)
    const own = found.filter(({ roles, severity }) => roles.includes(analyst) && severity !== 'low')
    assert.deepEqual(
      own.map(({ code, objects }) => ({ code, objects })),
      [],
    )
  })
})
