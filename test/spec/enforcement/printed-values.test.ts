import assert from 'node:assert/strict'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { usePlays } from './play-exposures.ts'

/** Raw values that a masked role has printed to itself by settings of its session. */
forEachCluster((cluster) => {
  const playAll = usePlays(cluster)

  clause(
    'ENF-497',
    'A masked role that can have PostgreSQL check a foreign key with a masked column of a row is listed as high (`PrintedKey`): …',
    playAll('ENF-497'),
  )

  clause(
    'ENF-498',
    'Not listed as `PrintedKey` are keys without a masked column, UPDATE of columns outside of the key, …',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { database } = target
      const analyst = await target.createRole('analyst')
      await database.sql.unsafe(`create table public.team (id int primary key, email text unique);
        create table public.person (id int primary key, email text unique references public.team (email), team int references public.team on delete set null on update cascade, note text);
        create table public.line (id int references public.person, email text references public.person (email));
        grant select, insert, delete on public.line to "${analyst}"; grant insert, update (note, team) on public.person to "${analyst}"; grant update (id) on public.team to "${analyst}"`)
      const wanted = policy([rule('public.person.email'), rule('public.line.email')])
      await reconcile(database, wanted)
      const look = async () =>
        (await findExposures(database, wanted))
          .filter(({ code }) => code === 'PrintedKey')
          .map(({ objects, remedy }) => [...objects.map(({ name }) => name), remedy])
      assert.deepEqual(await look(), [])
      await database.sql.unsafe(`grant update (email) on public.line to "${analyst}"`)
      assert.deepEqual(await look(), [])
      await database.sql.unsafe(`grant delete on public.person to "${analyst}"`)
      const remedy = `REVOKE DELETE ON public.person FROM "${analyst}" CASCADE`
      assert.deepEqual(await look(), [['"public"."person"', '"line_email_fkey"', remedy]])
      // A trigger that is off checks nothing.
      await database.sql.unsafe('alter table public.person disable trigger all')
      assert.deepEqual(await look(), [])
    },
  )

  clause(
    'ENF-501',
    'A function that PostgreSQL calls with a masked column by statements of a masked role (ENF-467, ENF-500) is listed as high (`PrintedArgument`) where…',
    playAll('ENF-501'),
  )

  clause(
    'ENF-502',
    'Not listed as `PrintedArgument` are functions in PL/pgSQL that have expressions alone, …',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { database } = target
      const analyst = await target.createRole('analyst')
      await database.sql.unsafe(`create table public.allowed (mail text); create table public.person (id int, email text, note text);
        create function public.plain(t text) returns boolean language plpgsql as 'declare v text := lower(t); begin if v = '''' then raise exception ''none''; end if; return v <> ''x''; end';
        create function public.quiet(t text) returns boolean language plpgsql set client_min_messages = error as 'begin return not exists (select from public.allowed where mail = t); end';
        create function public.inlined(t text) returns boolean language sql immutable as 'select lower(t) <> ''x''';
        create function public.bound(t text) returns boolean language sql immutable return lower(t) <> 'x';
        create function public.told() returns trigger language plpgsql as 'begin if tg_op = ''UPDATE'' and new.email <> old.email then new.note := ''x''; end if; return new; end';
        create function public.noted() returns trigger language plpgsql as 'begin insert into public.allowed values (new.note); return new; end';
        create trigger told before update on public.person for each row execute function public.told();
        create trigger noted before update on public.person for each row execute function public.noted();
        alter table public.person add check (public.plain(email)), add check (public.quiet(email)), add check (public.inlined(email)), add check (public.bound(email));
        grant select, update (note) on public.person to "${analyst}"`)
      const wanted = policy([rule('public.person.email')])
      await reconcile(database, wanted)
      const look = async () =>
        (await findExposures(database, wanted))
          .filter(({ code }) => code === 'PrintedArgument')
          .map(({ objects }) => objects.map(({ name }) => name))
      assert.deepEqual(await look(), [])
      await database.sql.unsafe('alter function public.quiet(text) reset all')
      assert.deepEqual(await look(), [['public.quiet(text)', '"public"."person"']])
    },
  )
})
