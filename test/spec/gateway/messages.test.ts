import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { int32, message, query } from '../../../src/wire/messages.ts'
import { clause } from '../../support/clause.ts'
import { openRental, type Rental } from '../../support/rental/open.ts'
import { type Answer, int16, openWireClient, type WireClient } from '../../support/wire-client.ts'

const mail = 'sXXX@XXXX.com'
const text = ({ rows }: Answer) => rows.map((row) => row.map((value) => value?.toString() ?? null))
const types = ({ frames }: Answer) => frames.map(([type = 0]) => String.fromCharCode(type)).join('')

const parse = (name: string, statement: string) => message('P', `${name}\0${statement}\0`, int16(0))
const bind = (portal: string, name: string, ...values: readonly string[]) =>
  message(
    'B',
    `${portal}\0${name}\0`,
    int16(0),
    int16(values.length),
    ...values.flatMap((value) => [int32(Buffer.byteLength(value)), value]),
    int16(0),
  )
const execute = (portal: string, limit = 0) => message('E', `${portal}\0`, int32(limit))
const describePortal = (portal: string) => message('D', `P${portal}\0`)
const sync = message('S')
const flush = message('H')

describe('messages of the protocol', () => {
  let rental: Rental
  let client: WireClient
  before(async () => {
    rental = await openRental()
    client = await openWireClient(rental.url)
  })
  after(async () => {
    await client?.close()
    await rental?.[Symbol.asyncDispose]()
  })

  clause(
    'GATE-60',
    'The rest of the protocol works as without the gateway: function calls, large objects…',
    async (t) => {
      await t.test('function calls, in text and in binary, and one that fails', async () => {
        const call = (oid: number, format: number, ...values: readonly Buffer[]) =>
          message(
            'F',
            int32(oid),
            int16(1),
            int16(format),
            int16(values.length),
            ...values.flatMap((value) => [int32(value.length), value]),
            int16(format),
          )
        const result = ({ frames }: Answer) => frames.find(([type]) => type === 0x56)?.subarray(9)
        const oids = await client.simple(
          `select 'textcat(text, text)'::regprocedure::oid, 'int4pl(int4, int4)'::regprocedure::oid, 'card_of(int4)'::regprocedure::oid`,
        )
        const [join = 0, plus = 0, cardOf = 0] = text(oids)[0]?.map(Number) ?? []
        const joined = await client.send(call(join, 0, Buffer.from('Stra'), Buffer.from('ße')))
        assert.equal(result(joined)?.toString(), 'Straße')
        assert.equal(result(await client.send(call(plus, 1, int32(40), int32(2))))?.readInt32BE(), 42)
        // The body of a function stays as it is: here it reads the table itself.
        assert.equal((await client.send(call(cardOf, 1, int32(3)))).error?.code, '42501')
        assert.equal((await client.send(call(999_999_999, 1))).error?.code, '42883')
        assert.deepEqual(text(await client.simple('select email from customer where id = 1')), [[mail]])
      })

      await t.test('large objects by statements', async () => {
        const [made] = text(await client.simple(`select lo_from_bytea(0, '\\x00ff10')`))[0] ?? []
        assert.deepEqual(
          text(await client.extended(`select lo_get(${made}), lo_put(${made}, 1, 'public.customer')`, 0)),
          [['\\x00ff10', '']],
        )
        const [read] = (await client.extended(`select lo_get(${made})`, 1)).rows[0] ?? []
        assert.equal(read?.subarray(1).toString(), 'public.customer')
        await client.simple(`begin; select lo_unlink(${made}); commit`)
        assert.equal((await client.simple(`select lo_get(${made})`)).error?.code, '42704')
      })

      await t.test('two portals at a time, fetched in parts', async () => {
        const answer = await client.send(
          parse('', 'begin'),
          bind('', ''),
          execute(''),
          parse('people', 'select id, email from public.customer where id > $1 order by id'),
          parse('staff', 'select id, ssn from staff order by id'),
          bind('a', 'people', '10'),
          bind('b', 'staff'),
          execute('a', 2),
          execute('b', 1),
          execute('a', 1),
          describePortal('b'),
          execute('b', 1),
          message('C', 'Pa\0'),
          execute('b', 0),
          sync,
        )
        assert.equal(answer.error, undefined)
        assert.deepEqual(text(answer).slice(0, 5), [
          ['11', mail],
          ['12', mail],
          ['1', 'XXX-XX-1101'],
          ['13', null],
          ['2', 'XXX-XX-1102'],
        ])
        assert.equal(answer.rows.length, 3 + 20)
        assert.equal(types(answer).replaceAll('D', ''), '12C1122sssTs3CZ')
        assert.equal((await client.send(execute('a'), sync)).error?.code, '34000')
        await client.simple('rollback')
      })

      await t.test('a pipeline of several rounds, with errors that point into its own texts', async () => {
        const wrong = `select 'ü', first_name, nothere from public.customer join public.address on true`
        const other = await openWireClient(rental.url)
        const first = other.send(
          ...[1, 2].flatMap((id) => [
            parse('', 'select email from public.customer where id = $1'),
            bind('', '', String(id)),
            execute(''),
          ]),
          parse('', 'select id from public.customer'),
          flush,
          parse('', wrong),
          parse('', 'select 1 from skipped'),
          bind('', ''),
          sync,
          parse('', 'select card from public.customer where id = 1'),
          bind('', ''),
          execute(''),
          sync,
          query(`select 1; select nothere from public.staff`),
          query('select phone from address where id = 1'),
        )
        const answers = [await first, await other.send(), await other.send(), await other.send()]
        assert.deepEqual(text(answers[0] as Answer), [[mail], [mail]])
        assert.equal(answers[0]?.error?.position, String(wrong.indexOf('nothere') + 1))
        assert.deepEqual(text(answers[1] as Answer), [['XXXX-XXXX-XXXX-0073']])
        assert.equal(answers[2]?.error?.position, String('select 1; select nothere'.indexOf('nothere') + 1))
        assert.deepEqual(text(answers[3] as Answer), [['+49…19']])
        await other.close()
      })

      await t.test('statements that are described, closed and empty', async () => {
        const answer = await client.send(
          parse('named', 'select email, born from customer where id = any($1)'),
          message('D', 'Snamed\0'),
          message('C', 'Snamed\0'),
          parse('', ''),
          bind('', ''),
          execute(''),
          sync,
        )
        assert.equal(types(answer), '1tT312IZ')
        assert.deepEqual(
          answer.columns.map(({ name, type, modifier }) => [name, type, modifier]),
          [
            ['email', 1043, 84],
            ['born', 1082, -1],
          ],
        )
        assert.equal((await client.send(bind('', 'named', '{1}'), sync)).error?.code, '26000')
        assert.equal(types(await client.simple('')), 'IZ')
      })

      await t.test(
        'COPY by either protocol, one that the client gives up, and one in binary there and back',
        async () => {
          const data = (line: string) => message('d', line)
          const copyIn = 'copy public.ledger (id, note) from stdin'
          const simple = await client.send(
            query(copyIn),
            data('1\tQ\\tselect\n'),
            data('2\tpublic.customer\n'),
            message('c'),
          )
          assert.deepEqual(simple.tags, ['COPY 2'])
          const extended = await client.send(
            parse('', copyIn),
            bind('', ''),
            execute(''),
            data('3\tx\n'),
            message('c'),
            sync,
          )
          assert.deepEqual(extended.tags, ['COPY 1'])
          const failed = await client.send(query(copyIn), data('4\ty\n'), message('f', 'no more\0'))
          assert.equal(failed.error?.code, '57014')
          assert.deepEqual(text(await client.simple('select count(*) from ledger')), [['3']])

          const out = await client.extended(
            'copy (select id, email from public.customer where id < 9) to stdout (format binary)',
            0,
          )
          const bytes = Buffer.concat(
            out.frames.filter(([type]) => type === 0x64).map((frame) => frame.subarray(5)),
          )
          assert.equal(bytes.toString('latin1', 0, 6), 'PGCOPY')
          await client.simple('delete from ledger')
          const back = await client.send(
            query(`${copyIn} (format binary)`),
            message('d', bytes),
            message('c'),
          )
          assert.deepEqual(back.tags, ['COPY 8'])
          assert.deepEqual(text(await client.simple('select distinct note from ledger')), [[mail]])
        },
      )

      await t.test('a cursor that outlives its transaction, in both protocols', async () => {
        await client.simple(
          'begin; declare held cursor with hold for select id, email from public.customer order by id; commit',
        )
        assert.deepEqual(text(await client.simple('fetch 2 from held')), [
          ['1', mail],
          ['2', mail],
        ])
        assert.deepEqual(text(await client.extended('fetch 1 from held', 0)), [['3', mail]])
        await client.extended('close held', 0)
      })

      await t.test('notifications from one session to another, also between statements', async () => {
        const other = await openWireClient(rental.url)
        await client.simple('listen "Rück"')
        await other.extended(`select pg_notify('Rück', 'public.customer')`, 1)
        let heard: Buffer | undefined
        for (let attempt = 0; !heard && attempt < 200; attempt++) {
          const { frames } = await client.simple('select 1')
          heard = frames.find(([type]) => type === 0x41)
        }
        assert.equal(heard?.toString('utf8', 9), 'Rück\0public.customer\0')
        await other.close()
      })
    },
  )
})
