import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { openRental, type Rental } from '../../support/rental/open.ts'
import { overOracle } from '../../support/rental/oracle.ts'
import { type Read, reads, readsByKey } from '../../support/rental/reads.ts'
import { traces } from '../../support/rental/schema.ts'
import { allowed, denied, writes, written } from '../../support/rental/writes.ts'
import type { Answer } from '../../support/wire-client.ts'

forEachCluster((cluster) => {
  describe('the queries of a film rental', () => {
    let rental: Rental
    before(async () => {
      rental = await openRental(cluster)
    })
    after(() => rental?.[Symbol.asyncDispose]())

    const see = ({ error, columns, rows, tags }: Answer) => ({
      error: error && `${error.code} ${error.message}`,
      columns,
      tags,
      rows: rows.map((row) => row.map((value) => value?.toString('latin1') ?? null)),
    })
    const fill = (text: string) => text.replaceAll('{database}', rental.database)
    type Side = 'gateway' | 'direct'

    const compare = async ({ text, values, byHand }: Read) => {
      const texts = { gateway: fill(text), direct: byHand ?? overOracle(fill(text)) }
      const ways = [
        ...(values ? [] : [(side: Side) => rental[side].simple(texts[side])]),
        ...([0, 1] as const).map(
          (format) => (side: Side) => rental[side].extended(texts[side], format, values),
        ),
      ]
      for (const run of ways) {
        const [found, expected] = [see(await run('gateway')), see(await run('direct'))]
        assert.equal(expected.error, undefined)
        assert.deepEqual(found, expected)
        assert.doesNotMatch(JSON.stringify(found.rows), traces)
      }
    }

    clause(
      'GATE-50',
      'The queries of an application give a masked role the same rows and columns, in the same order and of the same types, as…',
      async (t) => {
        assert.ok(reads.length >= 80)
        for (const read of reads) await t.test(read.name, () => compare(read))
      },
    )

    clause(
      'GATE-51',
      'A query that groups by the primary key of a masked table may use its other columns, as it could of the table itself…',
      async (t) => {
        for (const read of readsByKey) await t.test(read.name, () => compare(read))
        const drawn =
          'select s.id, s.salary, count(*) from public.staff s join payment p on p.staff_id = s.id'
        assert.equal((await rental.gateway.simple(`${drawn} group by s.id`)).error?.code, '42803')
        assert.equal((await rental.gateway.simple(`${drawn} group by s.id, s.salary`)).error, undefined)
      },
    )

    clause(
      'GATE-52',
      '`Number` draws a value within its range for every row and draws again for every query…',
      async () => {
        const draw = async () => {
          const { rows } = await rental.gateway.extended('select salary from public.staff order by id', 0)
          return rows.map(([salary]) => salary?.toString() ?? '')
        }
        const [first, second] = [await draw(), await draw()]
        assert.equal(first.length, 20)
        for (const salary of [...first, ...second]) assert.match(salary, /^(1\d{3}\.\d\d|2000\.00)$/)
        assert.notDeepEqual(first, second)
        const sum = 'select count(*) from staff where salary not between 1000 and 2000 or salary > 20000'
        assert.equal((await rental.gateway.simple(sum)).rows[0]?.[0]?.toString(), '0')
      },
    )

    const state = `select ${written.map((table) => `(select array_agg(t::text order by t::text) from ${table} t)`).join(', ')}`
    const readState = async () => see(await rental.direct.simple(state))

    clause(
      'GATE-53',
      'Writes go to the tables themselves; what they read besides is masked. They give the same answers and leave the same rows…',
      async (t) => {
        for (const { name, text, byHand, since = 0 } of writes)
          await t.test(name, { skip: since > rental.version && `since PostgreSQL ${since}` }, async () => {
            await rental.direct.simple('begin')
            const expected = see(await rental.direct.extended(fill(byHand), 0))
            const left = await readState()
            await rental.direct.simple('rollback')
            assert.equal(expected.error, undefined)
            assert.deepEqual(see(await rental.gateway.extended(fill(text), 0)), expected)
            assert.deepEqual(await readState(), left)
          })
      },
    )

    clause(
      'GATE-54',
      'A masked column of the table that is written, locked by row (`FOR UPDATE`) or sampled…',
      async (t) => {
        const before = await readState()
        for (const text of denied)
          await t.test(text, async () => {
            assert.equal((await rental.gateway.simple(text)).error?.code, '42501')
            assert.equal((await rental.gateway.extended(text, 1)).error?.code, '42501')
          })
        assert.deepEqual(await readState(), before)
        for (const text of allowed) {
          const [found, expected] = [await rental.gateway.simple(text), await rental.direct.simple(text)]
          assert.equal(expected.error, undefined)
          assert.deepEqual(see(found), see(expected))
        }
      },
    )

    clause(
      'GATE-55',
      'Names in the bodies of functions stay as they were written: without a schema they lead to masked data where the search…',
      async () => {
        const calls = [
          'select card_of(id), card_of(id) = card from customer where id < 20 order by id',
          "select * from mails_in('Amber 16')",
          'select m.mail, c.name from city c, mails_in(c.name) m where c.id < 5 order by c.id, m.who',
        ]
        await rental.gateway.simple('set search_path = masked_public, public')
        for (const text of calls) {
          const [found, expected] = [await rental.gateway.simple(text), await rental.direct.simple(text)]
          assert.equal(expected.error, undefined)
          assert.ok(expected.rows.length > 0)
          assert.deepEqual(see(found), see(expected))
        }
        await rental.gateway.simple('reset search_path')
      },
    )

    clause(
      'GATE-56',
      'Statements that carry others move what these read: EXPLAIN, PREPARE, DECLARE, CREATE TABLE AS, SELECT INTO, CREATE VIEW…',
      async () => {
        const scripts = [
          [
            'prepare p (int) as select id, email from public.customer where id < $1 order by id',
            'execute p (9)',
          ],
          [
            'begin',
            'declare c scroll cursor with hold for select id, card from public.payment order by id',
            'fetch 5 from c',
          ].concat([
            'commit',
            'fetch absolute 40 from c',
            'move 10 in c',
            'fetch backward 3 from c',
            'close c',
          ]),
          [
            'create temp table kept as select id, email from public.customer where id < 9',
            'table kept order by id',
            'drop table kept',
          ],
          [
            'select id, email into temp kept from customer where id < 9',
            'table kept order by id',
            'drop table kept',
          ],
          [
            'create temp view seen as select * from public.staff',
            'select id, ssn, email from seen order by id',
            'drop view seen',
          ],
          [
            'copy (select id, email, card from public.customer order by id) to stdout',
            'copy (table address) to stdout (format binary)',
          ],
          [
            'create temp table customer (id int)',
            'select * from customer',
            'select id, email from public.customer order by id limit 3',
            'drop table customer',
          ],
          [
            "select 1; select email from public.customer where id = 3; select 'public.customer'; table public.address",
          ],
        ]
        for (const statements of scripts)
          for (const text of statements) {
            const [found, expected] = [
              await rental.gateway.simple(text),
              await rental.direct.simple(
                text.startsWith('select 1;')
                  ? text.replaceAll(/(from|table) public\./g, '$1 oracle.')
                  : overOracle(text),
              ),
            ]
            assert.equal(expected.error, undefined, text)
            assert.deepEqual(see(found), see(expected), text)
            const data = ({ frames }: Answer) =>
              frames.filter(([type]) => type === 0x64).map((frame) => frame.toString('latin1'))
            assert.deepEqual(data(found), data(expected), text)
          }
        for (const options of ['', '(costs off)', '(analyze, format json)', 'verbose']) {
          const { error, rows } = await rental.gateway.simple(
            `explain ${options} select email from public.customer where id = 1`,
          )
          assert.equal(error, undefined)
          assert.doesNotMatch(rows.join(), traces)
        }
      },
    )
  })
})
