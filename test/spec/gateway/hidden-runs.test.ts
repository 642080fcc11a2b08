import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { openWatchedGateway } from '../../support/watched-gateway.ts'

const raw = 'raw@example.com'
const column = 'public.people.email'
const stat = "'select to_tsvector(''simple'', email) from public.people'"
const rewrite = "'select ''a''::tsquery, plainto_tsquery(''simple'', email) from public.people'"

forEachCluster((cluster) => {
  describe('raw reads by statements that do not look like it', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let gateway: Awaited<ReturnType<typeof openWatchedGateway>>

    before(async () => {
      target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      const auditor = await target.createRole('auditor')
      await sql.unsafe(`create table public.people (id int, email text); insert into public.people values (1, '${raw}');
        create table public.orders (id int, email text); create schema mine authorization "${auditor}";
        grant select on public.people, public.orders to "${auditor}"`)
      await takeTurn(target.database, policy([rule(`${column}`, 'Email')], [auditor]))
      gateway = await openWatchedGateway(target)
    })
    after(async () => {
      await gateway.close()
      await target[Symbol.asyncDispose]()
    })

    /** What the session touches, and how often; the text that `run` returns has the raw value. */
    async function touches(run: (client: pg.Client) => Promise<pg.QueryResult>): Promise<string[]> {
      const found = await gateway.watch(async () => {
        const client = new pg.Client(gateway.configOf('auditor'))
        await client.connect()
        try {
          const { rows } = await run(client)
          assert.ok(JSON.stringify(rows).includes(raw), JSON.stringify(rows))
        } finally {
          await client.end()
        }
      })
      const sums = new Map<string, number>()
      for (const { raw, isUnparsed, count } of found) {
        const what = isUnparsed ? 'unparsed' : String(raw)
        sums.set(what, count + (sums.get(what) ?? 0))
      }
      return [...sums].map(([what, count]) => `${what} ${count}`)
    }

    clause(
      'GATE-248',
      'A statement that runs a text by a function (GATE-45) is `unparsed` by whatever notation it calls the…',
      async () => {
        const cases: string[][] = [
          [`select (${stat}::text).ts_stat`],
          [`select t.ts_stat from unnest(array[${stat}]) t`],
          [
            `create temp table t (id int, x tsquery default ts_rewrite('a'::tsquery, ${rewrite}))`,
            'insert into t values (1) returning x',
          ],
          [
            'create operator pg_temp.### (function = ts_stat, rightarg = text)',
            `select operator(pg_temp.###) ${stat}`,
          ],
          [
            "create aggregate mine.rw(text) (sfunc = 'ts_rewrite', stype = tsquery, initcond = 'a')",
            `select mine.rw(${rewrite})`,
          ],
        ]
        for (const texts of cases) {
          const found = await touches(async (client) => {
            for (const text of texts.slice(0, -1)) await client.query(text)
            return client.query(texts.at(-1) ?? '')
          })
          assert.ok(found[0]?.startsWith('unparsed'), texts.join('; '))
        }
        const insert = `insert into t (a[(select ascii(email) from public.people)]) values (1)
          returning array_lower(a, 1), '${raw}'`
        const found = await touches(async (client) => {
          await client.query('create temp table t (a int[])')
          return client.query(insert)
        })
        assert.deepEqual(found, [`${column} 1`])
      },
    )

    clause(
      'GATE-249',
      'A name of a prepared statement that the gateway does not hold may mean any statement: Bind and…',
      async () => {
        const many = Array.from({ length: 2_001 }, (_, at) => `prepare n${at} as select 1`)
        const beyond = await touches(async (client) => {
          for (let at = 0; at < many.length; at += 100) await client.query(many.slice(at, at + 100).join(';'))
          await client.query('prepare victim as select email from public.people')
          await client.query('execute victim')
          return client.query('execute victim')
        })
        assert.deepEqual(beyond, ['unparsed 2'])
        const hidden = await touches(async (client) => {
          await client.query("do $$ begin execute 'prepare zz as select email from public.people'; end $$")
          await client.query('execute zz')
          return client.query('execute zz')
        })
        assert.deepEqual(hidden, ['unparsed 3'])
      },
    )

    clause(
      'GATE-250',
      'A temporary view that reads masked columns touches them at every read, by its name alone or behind…',
      async () => {
        const found = await touches(async (client) => {
          await client.query('create temp view orders as select email from public.people')
          await gateway.refresh()
          await client.query('select email from pg_temp.orders')
          return client.query('select email from orders')
        })
        assert.deepEqual(found, [`${column} 3`])
      },
    )
  })
})
