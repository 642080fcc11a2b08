import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { query } from '../../../src/wire/messages.ts'
import { connectWire } from '../../support/byte-client.ts'
import {
  bind,
  closeStatement,
  describeStatement,
  execute,
  parse,
  sync,
  useChangingRules,
} from '../../support/changing-rules.ts'
import { clause } from '../../support/clause.ts'
import { maskedEmail as mask, rawEmail as raw } from '../../support/masked-table.ts'

const text = 'select email from public.t where id = 1'

describe('statements that were prepared before rules changed', () => {
  const { setRules, target, configuration } = useChangingRules()

  clause(
    'GATE-85',
    'A statement that was prepared by message and under a name before rules changed is prepared…',
    async (t) => {
      await t.test('a driver that prepares once', async () => {
        const client = new pg.Client(configuration())
        await client.connect()
        const read = async () => {
          const { rows } = await client.query({
            name: 'by id',
            text: `${text.replace('1', '$1')}::int`,
            values: [1],
          })
          return rows[0]?.email
        }
        assert.equal(await read(), raw)
        await setRules('public.t.email')
        assert.equal(await read(), mask)
        assert.equal(await read(), mask)
        await setRules()
        assert.equal(await read(), raw)
        await client.query('begin')
        await setRules('public.t.email')
        assert.equal(await read(), mask)
        await client.query('commit')
        await client.end()
      })

      await t.test('the client hears what it would have heard', async () => {
        const client = await connectWire(configuration())
        client.write(parse('a', text), parse('b', 'select id from public.other'), sync)
        assert.equal((await client.read()).types, '11Z')
        await setRules('public.t.email')
        // One by Describe, one by Bind, one that the rules do not concern, and all of them once more.
        client.write(describeStatement('a'), bind('a'), execute, bind('b'), execute, sync)
        const first = await client.read()
        assert.equal(first.types, 'tT2DC2DCZ')
        assert.deepEqual(first.values.map(String), [mask, '7'])
        client.write(bind('a'), execute, sync, bind('b'), execute, bind('a'), execute, sync)
        assert.equal((await client.read(2)).types, '2DCZ2DC2DCZ')
        // The client closes it and means another by the same name.
        client.write(closeStatement('a'), parse('a', 'select 5'), sync)
        assert.equal((await client.read()).types, '31Z')
        await setRules()
        client.write(bind('a'), execute, sync, query(text))
        assert.deepEqual((await client.read(2)).values.map(String), ['5', raw])
        await client.close()
      })

      await t.test('a name that is taken keeps its statement', async () => {
        const client = await connectWire(configuration())
        client.write(parse('a', text), sync, parse('a', 'select 5'), sync)
        assert.equal((await client.read(2)).error?.get('C'), '42P05')
        await setRules('public.t.email')
        client.write(bind('a'), execute, sync)
        assert.deepEqual((await client.read()).values.map(String), [mask])
        await client.close()
      })
    },
  )

  clause(
    'GATE-86',
    'A statement that cannot be prepared again fails with the error of the database, and is…',
    async () => {
      const client = await connectWire(configuration())
      client.write(parse('a', text), sync)
      await client.read()
      await target().database.sql.unsafe('alter table public.t rename email to mail')
      await setRules('public.t.mail')
      client.write(bind('a'), execute, bind('a'), execute, sync, query('select 1'))
      const failed = await client.read(2)
      assert.equal(failed.error?.get('C'), '42703')
      assert.equal(failed.error?.get('P'), String(text.indexOf('email') + 1))
      assert.equal(failed.types, 'EZTDCZ')
      await setRules()
      await target().database.sql.unsafe('alter table public.t rename mail to email')
      await setRules('public.t.email')
      client.write(bind('a'), execute, sync)
      assert.deepEqual((await client.read()).values.map(String), [mask])
      // In a transaction that failed it is not tried.
      await setRules()
      client.write(query('begin'), query('select nothing'), bind('a'), execute, sync, query('rollback'))
      assert.deepEqual((await client.read(4)).types, 'CZEZEZCZ')
      client.write(bind('a'), execute, sync)
      assert.deepEqual((await client.read()).values.map(String), [raw])
      await client.close()
    },
  )

  test('an error that comes when it runs points nowhere rather than to the wrong place', async () => {
    const both = 'select o.id, t.email from public.t t, public.other o'
    const heard: unknown[] = []
    for (const columns of [[], ['public.t.email']]) {
      await setRules(...columns)
      const client = await connectWire(configuration())
      client.write(parse('a', both), sync)
      await client.read()
      await target().database.sql.unsafe('alter table public.other rename id to nr')
      client.write(bind('a'), execute, sync)
      const { error } = await client.read()
      await target().database.sql.unsafe('alter table public.other rename nr to id')
      heard.push([error?.get('C'), error?.get('P')])
      await client.close()
    }
    assert.deepEqual(heard, [
      ['42703', String(both.indexOf('o.id') + 1)],
      ['42703', undefined],
    ])
  })

  clause(
    'GATE-87',
    'Statements of `PREPARE`, and those beyond that megabyte, are denied until the client…',
    async () => {
      const client = await connectWire(configuration())
      client.write(query(`prepare a as ${text}`), query('execute a'))
      assert.deepEqual((await client.read(2)).values.map(String), [raw])
      await setRules('public.t.email')
      client.write(
        query('execute a'),
        query('deallocate a'),
        query(`prepare a as ${text}`),
        query('execute a'),
      )
      const { error, values } = await client.read(4)
      assert.equal(error?.get('C'), '42501')
      assert.deepEqual(values.map(String), [mask])
      // The last of them is too much.
      const long = `${text} and '${'x'.repeat(30_000)}' <> ''`
      await setRules()
      client.write(...Array.from({ length: 40 }, (_, at) => parse(`long ${at}`, long)), sync)
      await client.read()
      await setRules('public.t.email')
      client.write(bind('long 0'), execute, sync, bind('long 39'), execute, sync)
      const two = await client.read(2)
      assert.deepEqual(two.values.map(String), [mask])
      assert.equal(two.error?.get('C'), '42501')
      await client.close()
    },
  )
})
