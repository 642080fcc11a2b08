import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { connectTo, runProgram } from '../../support/programs.ts'
import { catalogQueries, psqlCommands } from '../../support/rental/catalogs.ts'
import { openRental, type Rental } from '../../support/rental/open.ts'
import { traces } from '../../support/rental/schema.ts'
import { waitUntil } from '../../support/wait-until.ts'
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
      "Catalog queries of tools are answered as without the gateway, byte for byte: psql's own…",
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
          const cut = (out: string) => out.slice(0, out.indexOf('Column | '))
          // Other tests make databases and roles of the server, and may take them away again: what is compared must be the
          // same before and after, and a difference that comes five times is none of theirs.
          const compare = async (commands: string, part: (out: string) => string) => {
            const run = (url: string) =>
              runProgram('psql', ['-X'], { ...connectTo(url), LC_ALL: 'C.UTF-8' }, commands)
            let differences = 0
            const compared = await waitUntil(
              'the lists of the server rest',
              async () => {
                const [direct, through] = await Promise.all([
                  run(rental.target.urlOf('clerk')),
                  run(rental.url),
                ])
                const again = await run(rental.target.urlOf('clerk'))
                if (part(direct.out) !== part(again.out)) return undefined
                const isDifferent = part(through.out) !== part(direct.out)
                return isDifferent && ++differences < 5 ? undefined : { through, direct }
              },
              { withinMs: 150_000 },
            )
            assert.ok(compared)
            const { through, direct } = compared
            assert.doesNotMatch(through.out, traces)
            assert.equal(part(through.out), part(direct.out))
            return through
          }
          // Apart from the others, these take a moment, and the lists rest for one more often.
          const ofServer = /^\\(l|du)$/gm
          const lists = await compare(psqlCommands.match(ofServer)?.join('\n') ?? '', (out) => out)
          assert.match(lists.out, /List of databases[\s\S]+List of roles/)
          assert.equal(lists.errors, '')
          const others = await compare(psqlCommands.replaceAll(ofServer, ''), cut)
          assert.match(others.out, /sXXX@XXXX\.com/)
          assert.ok(lists.out.length + cut(others.out).length > 10_000)
          assert.match(others.errors, /^ERROR: {2}column "nothere" does not exist\nLINE 1: .*\n {15}\^\n$/)
        })
      },
    )

    clause(
      'GATE-64',
      '`information_schema.columns` shows the masked columns of a table with their types also to a role that may only read it…',
      async () => {
        const reader = await rental.target.createRole('reader')
        const { sql } = rental.target.database
        await sql.unsafe(`grant select on masked_public.customer, masked_public.customer_list to "${reader}"`)
        await sql.unsafe(`grant select (id, first_name) on public.customer to "${reader}"`)
        const client = await openWireClient(rental.urlOf('reader'))
        const look = (schema: string, more = '') => `
          select column_name, ordinal_position, data_type, character_maximum_length, is_nullable, udt_name
          from information_schema.columns where table_schema = '${schema}' and table_name = 'customer' ${more}
          order by ordinal_position`
        const found = await client.simple(look('public'))
        assert.equal(found.error, undefined)
        assert.deepEqual(text(found), text(await rental.direct.simple(look('public'))))
        const spelled = `select information_schema.columns.column_name, count(*) over () from information_schema.columns
          where columns.table_name = $1 and information_schema.columns.table_schema = 'public' order by 1`
        assert.equal((await client.extended(spelled, 1, ['customer'])).rows.length, 15)
        const all = 'select * from information_schema.columns'
        assert.deepEqual((await client.simple(all)).columns, (await without.simple(all)).columns)
        const asTable = await client.simple('table information_schema.columns')
        assert.equal(asTable.error, undefined)
        const joined = `select c.column_name from information_schema.tables t join information_schema.columns as c
          using (table_schema, table_name) where t.table_name = 'customer' and c.table_schema = 'public' and c.column_name = 'email'`
        assert.deepEqual(text(await client.simple(joined)), [['email']])
        await client.close()
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
          // The statistics of the catalogs are full of numbers, and one of them may look like a trace.
          `(select * from pg_stats where schemaname <> 'pg_catalog') as own`,
          'pg_stats_ext',
          'pg_views',
          'information_schema.views',
          'information_schema.columns',
        ]
        for (const query of [...selects, ...views.map((view) => `select * from ${view}`)]) {
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
