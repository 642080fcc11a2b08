import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { int32, message, query } from '../../../src/wire/messages.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
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
import { maskedEmail as mask, rawEmail as raw } from '../../support/masked-table.ts'
import { waitUntil } from '../../support/wait-until.ts'

const flush = message('H')
const text = 'select email from public.t where id = 1'

describe('statements prepared again, among other messages', () => {
  const { setRules, target, configuration } = useChangingRules()
  const open = () => connectWire(configuration())

  test('an error afterwards points nowhere', async () => {
    const both = 'select o.id, t.email from public.t t, public.other o'
    const client = await open()
    client.write(parse('a', both), sync)
    await client.read()
    await setRules('public.t.email')
    client.write(bind('a'), execute, sync)
    assert.equal((await client.read()).types, '2DCZ')
    await target().database.sql.unsafe('alter table public.other rename id to nr')
    client.write(bind('a'), execute, sync)
    const { error } = await client.read()
    await target().database.sql.unsafe('alter table public.other rename nr to id')
    await client.close()
    assert.deepEqual([error?.get('C'), error?.get('P')], ['42703', undefined])
  })

  test('nor does it behind a name that was changed', async () => {
    const both = 'select t.email from public.t t, public.other o where o.id = 7'
    const client = await open()
    client.write(parse('a', both), sync)
    await client.read()
    await setRules('public.t.email')
    client.write(bind('a'), execute, sync)
    assert.equal((await client.read()).types, '2DCZ')
    await target().database.sql.unsafe('alter table public.other rename id to nr')
    client.write(bind('a'), execute, sync)
    const { error } = await client.read()
    await target().database.sql.unsafe('alter table public.other rename nr to id')
    await client.close()
    assert.equal(error?.get('C'), '42703')
    assert.equal(error?.get('P'), undefined)
  })

  test('a query behind an error that no Sync followed: denied, and nothing is heard that was not asked for', async () => {
    const client = await open()
    client.write(parse('a', text), sync)
    await client.read()
    client.write(bind('nope'), query('select 1'), sync)
    assert.equal((await client.read()).types, 'EZ')
    await setRules('public.t.email')
    client.write(bind('a'), execute, sync)
    const { types } = await client.read()
    await client.close()
    assert.equal(types, 'EZ')
  })

  test('an error before it, and once more in the same pipeline', async () => {
    const client = await open()
    client.write(parse('a', text), sync)
    await client.read()
    await setRules('public.t.email')
    client.write(bind('nope'), execute, bind('a'), execute, sync, bind('a'), execute, sync)
    const answer = await client.read(2)
    await client.close()
    assert.equal(answer.types, 'EZ2DCZ', String(answer.error?.get('M')))
  })

  test('a transaction that fails in the pipeline', async () => {
    const client = await open()
    client.write(parse('a', text), sync)
    await client.read()
    await setRules('public.t.email')
    client.write(
      query('begin'),
      query('select nothing'),
      bind('a'),
      execute,
      sync,
      query('rollback'),
      bind('a'),
      execute,
      sync,
    )
    const answer = await client.read(5)
    await client.close()
    assert.equal(answer.types, 'CZEZEZCZ2DCZ', answer.bytes.toString('latin1'))
  })

  test('statements that are closed at once take no room', async () => {
    const client = await open()
    const long = `${text} and '${'x'.repeat(30_000)}' <> ''`
    for (let at = 0; at < 40; at++) {
      client.write(parse(`l${at}`, long), closeStatement(`l${at}`), sync)
      assert.equal((await client.read()).types, '13Z')
    }
    client.write(parse('a', text), sync)
    await client.read()
    const many = parse('b', long)
    client.write(many, sync)
    await client.read()
    await setRules('public.t.email')
    client.write(bind('b'), execute, sync)
    const { values, error } = await client.read()
    await client.close()
    assert.deepEqual(values.map(String), [mask], error?.get('M'))
  })

  test('what is closed at once is gone', async () => {
    const client = await open()
    client.write(parse('a', text), closeStatement('a'), sync)
    assert.equal((await client.read()).types, '13Z')
    await setRules('public.t.email')
    client.write(bind('a'), execute, sync)
    const { error, types } = await client.read()
    await client.close()
    assert.equal(error?.get('C'), '26000', types)
  })

  test('a Close that an error skips', async () => {
    const client = await open()
    client.write(parse('a', text), sync)
    await client.read()
    client.write(bind('nope'), closeStatement('a'), sync)
    assert.equal((await client.read()).types, 'EZ')
    await setRules('public.t.email')
    client.write(bind('a'), execute, sync)
    const { values, error } = await client.read()
    await client.close()
    assert.deepEqual(values.map(String), [mask], error?.get('M'))
  })

  test('another statement under the same name, by SQL', async () => {
    const client = await open()
    client.write(parse('a', text), sync, query('deallocate a'), query('prepare a as select 5'))
    await client.read(3)
    client.write(bind('a'), execute, sync)
    assert.deepEqual((await client.read()).values.map(String), ['5'])
    await setRules('public.t.email')
    client.write(bind('a'), execute, sync)
    const { values } = await client.read()
    await client.close()
    assert.deepEqual(values.map(String), ['5'])
  })

  test('another statement under the same name, too long to be looked at', async () => {
    const client = await open()
    client.write(parse('a', text), sync, query('discard all'))
    await client.read(2)
    client.write(parse('a', `select 5 /* ${'x'.repeat(1 << 20)} */`), sync)
    assert.equal((await client.read()).types, '1Z')
    await setRules('public.t.email')
    client.write(bind('a'), execute, sync)
    const { values } = await client.read()
    await client.close()
    assert.deepEqual(values.map(String), ['5'])
  })

  test('what is discarded is gone', async () => {
    const client = await open()
    client.write(parse('a', text), sync, query('discard all'))
    await client.read(2)
    await setRules('public.t.email')
    client.write(bind('a'), execute, sync)
    const { error, types } = await client.read()
    await client.close()
    assert.equal(error?.get('C'), '26000', types)
  })

  test('what comes behind many that were deallocated by SQL', async () => {
    const client = await open()
    const long = `${text} and '${'x'.repeat(30_000)}' <> ''`
    for (let at = 0; at < 40; at++) {
      client.write(parse(`l${at}`, long), sync, query(`deallocate l${at}`))
      await client.read(2)
    }
    client.write(parse('b', long), sync)
    await client.read()
    await setRules('public.t.email')
    client.write(bind('b'), execute, sync)
    const { values, error } = await client.read()
    await client.close()
    assert.deepEqual(values.map(String), [mask], error?.get('M'))
  })

  const settings = {
    'another encoding since': { strange: '\u00e9', length: '1', set: "set client_encoding to 'latin1'" },
    'other strings since': { strange: '\\\\', length: '2', set: 'set standard_conforming_strings to off' },
  }
  for (const [name, { strange, length, set }] of Object.entries(settings))
    test(`${name}: denied rather than read otherwise`, async () => {
      const client = await open()
      client.write(
        parse('a', `select email, length('${strange}') from public.t where id = 1`),
        sync,
        query(set),
      )
      await client.read(2)
      client.write(bind('a'), execute, sync)
      assert.deepEqual((await client.read()).values.map(String), [raw, length])
      await setRules('public.t.email')
      client.write(bind('a'), execute, sync)
      const { values, error } = await client.read()
      await client.close()
      assert.deepEqual(values, [])
      assert.equal(error?.get('C'), '42501')
    })

  test('parameters of more than a megabyte: denied', async () => {
    const client = await open()
    client.write(message('P', `a\0${text} and $1::text <> ''\0`, Buffer.alloc(2)), sync)
    await client.read()
    await setRules('public.t.email')
    const big = Buffer.alloc(1_200_000, 0x78)
    client.write(
      message('B', '\0a\0', Buffer.from([0, 0, 0, 1]), int32(big.length), big, Buffer.alloc(2)),
      execute,
      sync,
    )
    const { values, error } = await client.read()
    await client.close()
    assert.deepEqual(values, [])
    assert.equal(error?.get('C'), '42501')
  })

  test('long names, and names beyond ASCII', async () => {
    const client = await open()
    const long = 'n'.repeat(63)
    const odd = Buffer.from('\u00e9\u20ac'.repeat(30))
    client.write(parse(`${long}x`, text), parse(odd, text), sync)
    assert.equal((await client.read()).types, '11Z')
    await setRules('public.t.email')
    client.write(bind(`${long}y`), execute, sync, bind(odd), execute, sync)
    const { values, types } = await client.read(2)
    assert.equal(types, '2DCZ2DCZ')
    assert.deepEqual(values.map(String), [mask, mask])
    await setRules()
    const sofar = client.stream.bytesRead
    client.write(describeStatement(`${long}zzz`), bind(odd), execute, flush)
    await waitUntil('an answer', () => client.stream.bytesRead > sofar)
    client.write(bind(long), execute, sync)
    const two = await client.read()
    assert.equal(two.types, 'tT2DC2DCZ')
    assert.deepEqual(two.values.map(String), [raw, raw])
    await client.close()
  })

  test('several changes in a row', async () => {
    const client = await open()
    client.write(parse('a', text), sync)
    await client.read()
    for (let at = 0; at < 3; at++) {
      await setRules('public.t.email')
      await setRules()
      await setRules('public.t.email')
      client.write(describeStatement('a'), sync, bind('a'), execute, sync)
      const one = await client.read(2)
      assert.equal(one.types, 'tTZ2DCZ')
      assert.deepEqual(one.values.map(String), [mask])
      await setRules()
      client.write(bind('a'), execute, sync)
      assert.deepEqual((await client.read()).values.map(String), [raw])
    }
    await client.close()
  })

  test('COPY by the extended protocol in between', async () => {
    const client = await open()
    client.write(parse('a', text), parse('c', 'copy public.sink from stdin'), sync)
    await client.read()
    await setRules('public.t.email')
    const sofar = client.stream.bytesRead
    client.write(bind('c'), execute, sync)
    await waitUntil('an answer', () => client.stream.bytesRead > sofar)
    client.write(message('d', 'one\n'), message('c'), sync, bind('a'), execute, sync)
    const { types } = await client.read(2)
    assert.equal(types, '2GCZ2DCZ')
    await setRules()
    client.write(bind('c'), execute, message('d', 'two\n'), message('c'), bind('a'), execute, sync)
    assert.equal((await client.read(1)).types, '2GC2DCZ')
    await setRules('public.t.email')
    client.write(
      bind('c'),
      execute,
      message('d', 'a\tb\n'),
      message('c'),
      bind('a'),
      execute,
      sync,
      bind('c'),
      execute,
      message('f', 'no\0'),
      sync,
    )
    assert.equal((await client.read(2)).types, '2GEZ2GEZ')
    client.write(bind('a'), execute, sync)
    const last = await client.read()
    assert.equal(last.types, '2DCZ')
    await client.close()
  })

  test('closed, prepared and used in one pipeline', async () => {
    const client = await open()
    client.write(parse('a', text), sync)
    await client.read()
    await setRules('public.t.email')
    client.write(bind('a'), closeStatement('a'), parse('a', 'select 5'), execute, bind('a'), execute, sync)
    const first = await client.read()
    assert.equal(first.types, '231DC2DCZ'.replace('DC2', 'C2').replace('C2', 'DC2'))
    assert.deepEqual(first.values.map(String), [mask, '5'])
    await setRules()
    client.write(bind('a'), execute, sync)
    assert.deepEqual((await client.read()).values.map(String), ['5'])
    await client.close()
  })

  const openHasty = () => openBareGateway(target().database, target().url, { idleMs: 400 })
  test('an idle session is ended also behind a query that came before a Sync', async () => {
    const hasty = await openHasty()
    const client = await connectWire(target().through(hasty))
    client.write(bind('nope'), query('select 1'), sync)
    await client.read()
    await assert.rejects(client.read())
    await hasty.close(0)
  })

  test('a session that works is not idle behind a COPY that came in one piece', async () => {
    const hasty = await openHasty()
    const client = await connectWire(target().through(hasty))
    client.write(parse('c', 'copy public.sink from stdin'), sync)
    await client.read()
    client.write(bind('c'), execute, message('d', 'one\n'), message('c'), sync)
    assert.equal((await client.read()).types, '2GCZ')
    client.write(parse('', 'select pg_sleep(1.5)'), bind(''), execute, sync)
    assert.equal((await client.read()).types, '12DCZ')
    await client.close()
    await hasty.close(0)
  })
})
