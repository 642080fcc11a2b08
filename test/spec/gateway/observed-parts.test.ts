import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { readWatched } from '../../../src/findings/per-role/read-watched.ts'
import { findGuard } from '../../../src/masks/read/guard.ts'
import { clause } from '../../support/clause.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { useWatchedDatabase, value } from '../../support/watched-database.ts'

const rules = ['public.logs.email', 'public.child.secret']
const observed = rules.map((each) => {
  const [schema = '', table = '', column = ''] = each.split('.')
  return { schema, table, column }
})

forEachCluster((cluster) => {
  describe('parts of tables under a policy that is observed', () => {
    const setUp = async (all: string) => {
      await run(`create table public.logs (id int, email text) partition by list (id);
        create table public.logs_1 partition of public.logs for values in (1) partition by list (id);
        create table public.logs_1_1 partition of public.logs_1 for values in (1);
        insert into public.logs values (1, '${value}');
        create table public.base (id int, secret text); create table public.other () inherits (public.base);
        create table public.child (low text generated always as (lower(secret)) stored) inherits (public.base);
        create table public.apart (id int, secret text, low text);
        insert into public.child values (1, '${value}'); insert into public.other values (1, '${value}');
        create view public.seen as select secret from public.base;
        grant select on all tables in schema public to ${all}`)
    }
    const database = useWatchedDatabase(cluster, ['analyst'], setUp, observed)
    const { target, run, mask, watch } = database

    clause(
      'GATE-273',
      'While a policy is observed, the audit has every column that would be masked if it were enforced: the…',
      async () => {
        for (const [text, ...columns] of [
          ['select email from public.logs', 'public.logs.email'],
          ['select email from public.logs_1', 'public.logs_1.email'],
          ['select email from public.logs_1_1', 'public.logs_1_1.email'],
          ['select secret from public.child', 'public.child.secret'],
          ['select low from public.child', 'public.child.low'],
          ['select secret from public.base', 'public.base.secret'],
          ['select secret from public.other', 'public.other.secret'],
          ['select secret from public.seen', 'public.base.secret'],
        ]) {
          const { shown, raw } = await watch('analyst', text ?? '')
          assert.match(shown, new RegExp(value), text)
          assert.deepEqual(raw, columns, text)
        }
        const { raw } = await watch('analyst', 'select id from public.base', 'select * from public.apart')
        assert.deepEqual(raw, [])
      },
    )

    clause(
      'GATE-273',
      'While a policy is observed, the audit has every column that would be masked if it were enforced: the…',
      async () => {
        const { sql } = target().database
        const role = target().role('analyst')
        const list = async (guard: string | null) => {
          const watched = (await readWatched(sql, [role], guard, observed)).get(role)?.watched ?? []
          return [...new Set(watched.flatMap(({ masked }) => masked.map(({ column }) => column)))].sort()
        }
        const expected = await list(null)
        await mask(rules, [])
        assert.deepEqual(await list(await findGuard(sql)), expected)
      },
    )
  })
})
