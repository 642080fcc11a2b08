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
})
