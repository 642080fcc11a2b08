import assert from 'node:assert/strict'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forUsualCluster } from '../../support/postgres.ts'

forUsualCluster((cluster) => {
  clause(
    'ENF-457',
    'All tables of one masked role below one table are one exposure of each code, with the first 1000 of them and the number of all…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      const analyst = await target.createRole('analyst')
      await sql.unsafe(`create table public.person (id int, email text); create schema own authorization "${analyst}";
        create table public.parent (a int); create table own.child () inherits (public.parent); alter table own.child owner to "${analyst}";
        create materialized view public.mv as select * from public.parent;
        create function public.count() returns int language plpgsql security definer
          as 'begin return (select max(a) from public.parent); end' set search_path = pg_catalog, pg_temp`)
      for (const from of [1, 301, 601, 901])
        await target.runAs(
          'analyst',
          `do $$ begin for i in ${from}..${from + 299} loop execute format('create table own.t%s () inherits (own.child)', i); end loop; end $$`,
        )
      const wanted = policy([rule('public.person.email')])
      await reconcile(target.database, wanted)
      const found = (await findExposures(target.database, wanted)).filter(({ roles }) =>
        roles.includes(analyst),
      )
      for (const code of ['PartitionCode', 'DefinerCode', 'ViewCode']) {
        const [one, ...others] = found.filter((exposure) => exposure.code === code)
        assert.deepEqual(others, [], code)
        assert.equal(one?.objects.filter(({ name }) => name.startsWith('own.')).length, 1000, code)
        assert.match(one?.explanation ?? '', /1201 tables below it, of which the first 1000 are listed/)
        assert.equal(one?.remedy?.split(';\n').length, 1000, code)
      }
    },
  )
})
