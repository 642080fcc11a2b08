import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
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
    'ENF-508',
    'Extended statistics of the most common combinations of a masked column with others are listed as high (`LinkedStatistics`) with the masked roles that…',
    playAll('ENF-508'),
  )

  clause(
    'ENF-509',
    'Estimates by the statistics of a masked column itself are no exposure. Without them, by the statements of `docs/enforcement.md`, PostgreSQL plans…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { database } = target
      await target.createRole('analyst')
      const fill = `insert into public.person select i, 1000 * (i % 3) from generate_series(1, 300) i where i % 3 < 2;
        analyze public.person`
      await database.sql.unsafe(`create table public.person (id int, pay int); ${fill}; create statistics public.counts (dependencies, ndistinct) on id, pay
        from public.person; grant usage on schema public to public`)
      const wanted = policy([rule('public.person.pay')])
      await reconcile(database, wanted)
      assert.deepEqual(await findExposures(database, wanted), [])
      const estimate = async (pay: number) => {
        const client = new pg.Client({ connectionString: target.urlOf('analyst') })
        const seen: string[] = []
        client.on('notice', ({ message, detail }) => seen.push(message ?? '', detail ?? ''))
        await client.connect()
        await assert.rejects(
          client.query(
            `set debug_print_plan = on; set client_min_messages = log; select from public.person where pay = ${pay}`,
          ),
          /permission denied/,
        )
        await client.end()
        return /plan_rows (\d+)/.exec(seen.join(' '))?.[1]
      }
      assert.notEqual(await estimate(1000), await estimate(5))
      const page = readFileSync(new URL('../../../docs/enforcement.md', import.meta.url), 'utf8')
      const [, later = '', earlier = ''] =
        /```sql\n(ALTER TABLE people[\s\S]*?pg_clear_attribute_stats.*;)\n(?:--.*\n)+(DELETE [\s\S]*?;)\n```/.exec(
          page,
        ) ?? []
      const [first = '', cleared = ''] = later.split(';\n')
      const place = (text: string) =>
        text
          .replaceAll(/\bpeople\b/g, 'person')
          .replaceAll(/\bsalary\b/g, 'pay')
          .replace(/^--.*\n/gm, '')
      const majorIsLate = majorOf(cluster) >= 18
      await database.sql.unsafe(
        `set search_path = public; ${place(first)}; ${place(majorIsLate ? cleared : earlier)}; ${fill}; reset search_path`,
      )
      assert.equal(await estimate(1000), await estimate(5))
      assert.deepEqual((await reconcile(database, wanted)).steps, [])
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
