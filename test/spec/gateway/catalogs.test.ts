import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { connectTo, runProgram } from '../../support/programs.ts'
import { catalogQueries, psqlCommands } from '../../support/rental/catalogs.ts'
import { openRental, type Rental } from '../../support/rental/open.ts'
import { traces } from '../../support/rental/schema.ts'
import { type Answer, openWireClient, type WireClient } from '../../support/wire-client.ts'

const psqlVersion = spawnSync('psql', ['--version'], { encoding: 'utf8' }).stdout?.match(/(\d+)\./)?.[1]

forEachCluster((cluster) => {
  describe('tools that look into the catalogs', () => {
    let rental: Rental
    let without: WireClient
    before(async () => {
      rental = await openRental(cluster)
      without = await openWireClient(rental.target.urlOf('clerk'))
    })
    after(async () => {
      await without?.close()
      await rental?.[Symbol.asyncDispose]()
    })
    const text = ({ rows }: Answer) => rows.map((row) => row.map((value) => value?.toString() ?? null))

    clause(
      'GATE-61',
      'What tools ask of the catalogs is answered as without the gateway, to the byte…',
      async (t) => {
        for (const [name, query] of Object.entries(catalogQueries))
          await t.test(name, async () => {
            assert.ok((await rental.gateway.simple(query)).rows.length > 0)
            for (const run of [
              (client: WireClient) => client.simple(query),
              (client: WireClient) => client.extended(query, 1),
            ]) {
              const [found, expected] = [await run(rental.gateway), await run(without)]
              assert.equal(found.error?.message, expected.error?.message)
              assert.deepEqual(found.rows, expected.rows)
              assert.deepEqual(found.columns, expected.columns)
            }
          })
        const isMatch = Number(psqlVersion) === rental.version
        await t.test('psql', { skip: !isMatch && `there is no psql ${rental.version} here` }, async () => {
          const [through, direct] = await Promise.all(
            [rental.url, rental.target.urlOf('clerk')].map((url) =>
              runProgram('psql', ['-X'], { ...connectTo(url), LC_ALL: 'C.UTF-8' }, psqlCommands),
            ),
          )
          assert.doesNotMatch(through?.out ?? '', traces)
          assert.match(through?.out ?? '', /sXXX@XXXX\.com/)
          const cut = (out = '') => out.slice(0, out.indexOf('Column | '))
          assert.ok(cut(through?.out).length > 10_000)
          assert.equal(cut(through?.out), cut(direct?.out))
          assert.match(
            through?.errors ?? '',
            /^ERROR: {2}column "nothere" does not exist\nLINE 1: .*\n {15}\^\n$/,
          )
        })
      },
    )

    clause(
      'GATE-63',
      'By the names of the twins, through the catalogs and the information schema a masked role finds masked values or none…',
      async () => {
        const { gateway } = rental
        const reads = [
          'select * from masked_public.customer',
          'table masked_public.payment',
          'select masked_public.staff.ssn, masked_public.staff.email from masked_public.staff',
          'copy masked_public.customer to stdout',
          `select * from "masked_Back Office"."Complaint"`,
          'select * from masked_public.rental_counts join masked_public.customer_list on id = customer_id',
        ]
        for (const read of reads)
          for (const answer of [await gateway.simple(read), await gateway.extended(read, 0)]) {
            assert.equal(answer.error, undefined, read)
            assert.ok(answer.rows.length > 0 || answer.tags[0] === 'COPY 300', read)
            assert.doesNotMatch(Buffer.concat(answer.frames).toString('latin1'), traces, read)
          }
        const columns = text(
          await gateway.simple(
            `select c.oid::regclass, quote_ident(a.attname) from pg_class c join pg_attribute a on a.attrelid = c.oid
             where c.relkind in ('r', 'p', 'v', 'm') and a.attnum > 0 and not a.attisdropped
               and c.relnamespace::regnamespace::text ~ '(public|Back Office)'`,
          ),
        )
        assert.ok(columns.length > 200)
        const selects = columns.map(([relation, column]) => `select ${column} from ${relation}`)
        const views = [
          'pg_stats',
          'pg_stats_ext',
          'pg_views',
          'information_schema.views',
          'information_schema.columns',
        ]
        for (const query of [...selects, ...views.map((view) => `table ${view}`)]) {
          const answer = await gateway.simple(query)
          assert.equal(answer.error, undefined, query)
          assert.doesNotMatch(Buffer.concat(answer.frames).toString('latin1'), traces, query)
        }

        const change = await gateway.simple(
          `update masked_public.customer set email = 'own@mail.example' where masked_public.customer.id = 9`,
        )
        assert.deepEqual(change.tags, ['UPDATE 1'])
        const [raw] = await rental.target.database.sql`select email from public.customer where id = 9`
        assert.equal(raw?.email, 'own@mail.example')
        const peek = `update masked_public.customer set first_name = email where id = 9 returning card`
        assert.equal((await gateway.simple(peek)).error?.code, '42501')
      },
    )
  })
})
