import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type pg from 'pg'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { message, query } from '../../../src/wire/messages.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { connectWire } from '../../support/byte-client.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { openWireClient } from '../../support/wire-client.ts'

const raw = 'ann@example.com'
const mask = 'aXXX@XXXX.com'

/** Letters of each encoding, where there are such with bytes that are backslashes, bars or quotes to others. */
const encodings: Record<string, string> = {
  SJIS: 'ソ表能',
  SHIFT_JIS_2004: 'ソ表能',
  BIG5: '功許蓋',
  GBK: '誠乗',
  UHC: '갂힝',
  GB18030: '誠乗€ḿ',
  EUC_JP: '日本語',
  EUC_KR: '한글',
  EUC_CN: '中文',
  EUC_TW: '中文',
  LATIN1: 'éß',
  LATIN2: 'łż',
  LATIN9: '€é',
  WIN1251: 'жц',
  WIN1252: '€é',
  KOI8R: 'жц',
}
/** Names of masked tables, and who can write them. */
const names: Record<string, string[]> = {
  'Kunden Döner': ['LATIN1', 'LATIN2', 'LATIN9', 'WIN1252'],
  表ソ: ['SJIS', 'EUC_JP'],
  功: ['BIG5', 'GBK', 'EUC_JP', 'GB18030'],
  таблица: ['WIN1251', 'KOI8R'],
}

forEachCluster((cluster) => {
  describe('clients with other encodings', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let gateway: Gateway
    before(async () => {
      target = await createMaskedDatabase(cluster)
      const analyst = await target.createRole('analyst')
      await target.database.sql.unsafe('create table public.customers (id int, email text)')
      const tables = ['customers', ...Object.keys(names)]
      for (const name of tables)
        await target.database.sql.unsafe(`
          create table if not exists public."${name}" (id int, email text);
          insert into public."${name}" values (1, '${raw}'); grant select on public."${name}" to "${analyst}"`)
      await takeTurn(target.database, policy(tables.map((name) => rule(`public.${name}.email`, 'Email'))))
      gateway = await openBareGateway(target.database, target.url)
    })
    after(async () => {
      await gateway.close(0)
      await target[Symbol.asyncDispose]()
    })
    const open = (config: pg.ClientConfig = {}) =>
      connectWire({
        host: '127.0.0.1',
        port: gateway.port,
        user: target.role('analyst'),
        password: 'secret',
        database: 'any',
        ...config,
      })
    const encode = async (text: string, encoding: string): Promise<Buffer> => {
      const [row] = await target.database.sql`select convert_to(${text}, ${encoding}) as bytes`
      return row?.bytes
    }
    const sayBytes = (bytes: Buffer) => message('Q', bytes, '\0')
    const parseBytes = (bytes: Buffer) =>
      Buffer.concat([
        message('P', '\0', bytes, Buffer.alloc(3)),
        message('B', '\0\0', Buffer.alloc(6)),
        message('E', '\0', Buffer.alloc(4)),
        message('S'),
      ])

    for (const [encoding, letters] of Object.entries(encodings))
      clause(
        'GATE-68',
        'Clients may use every encoding that PostgreSQL has for them, and change it at any time…',
        async () => {
          const client = await open()
          client.write(query(`set client_encoding to '${encoding}'`))
          assert.equal((await client.read()).error, undefined)
          const text = await encode(
            `select '${letters}', email from public.customers /* ${letters} */`,
            encoding,
          )
          for (const frame of [sayBytes(text), parseBytes(text)]) {
            client.write(frame)
            const { values, error } = await client.read()
            assert.equal(error, undefined)
            assert.deepEqual(values, [await encode(letters, encoding), Buffer.from(mask)])
          }
          const wrong = `select '${letters}' as "${letters}", email, nothere from public.customers`
          client.write(sayBytes(await encode(wrong, encoding)))
          const { error } = await client.read()
          assert.equal(error?.get('C'), '42703')
          assert.equal(error?.get('P'), String([...wrong.slice(0, wrong.indexOf('nothere'))].length + 1))
          for (const [name, users] of Object.entries(names)) {
            if (!users.includes(encoding)) continue
            client.write(sayBytes(await encode(`select '${letters}', email from public."${name}"`, encoding)))
            const read = await client.read()
            assert.equal(read.error, undefined, name)
            assert.equal(read.values[1]?.toString(), mask)
          }
          await client.close()
        },
      )

    test('the encoding comes with the startup packet, its options, or a function', async () => {
      const text = await encode("select 'ソ', email from public.customers", 'SJIS')
      const url = new URL(target.urlOf('analyst'))
      Object.assign(url, { host: `127.0.0.1:${gateway.port}` })
      for (const parameters of [
        { client_encoding: 'SJIS' },
        { options: '-c client_encoding=SJIS' },
        undefined,
      ]) {
        const client = await openWireClient(url.href, parameters)
        if (!parameters) await client.simple("select set_config('client_encoding', 'SJIS', false)")
        assert.deepEqual((await client.send(sayBytes(text))).rows[0]?.[1], Buffer.from(mask))
        await client.close()
      }
    })

    test('bytes that mean something else to the other side show nothing raw', async () => {
      const hostile = [
        "select '\x83', email from public.customers --'",
        "select '\x83\\', email from public.customers --'",
        "select '\x83\\' || email from public.customers /*'*/",
        'select "\x95\\", email from public.customers',
        "select email from public.customers where '\xa5\\' <> ''",
        'select $\x83$ $\x83$, email from public.customers',
        "select '\x81\x30\x81\x27 email from public.customers --'",
        "select '\x8e', email from public.customers --'",
        'select email from public.customers\x81',
        'select email from public.customers where id = 1 --\xff',
        "select '\xc0\xa7', email from public.customers --'",
      ]
      const client = await open()
      for (const encoding of [...Object.keys(encodings), 'JOHAB', 'UTF8', 'SQL_ASCII'])
        for (const text of hostile) {
          client.write(query('set client_encoding to utf8'))
          await client.read()
          const bytes = Buffer.from(text, 'latin1')
          // Both at once: what the gateway knows is out of date when it sees the second.
          client.write(query(`set client_encoding to '${encoding}'`), sayBytes(bytes))
          const first = await client.read(2)
          client.write(sayBytes(bytes), parseBytes(bytes))
          const second = await client.read(2)
          for (const { bytes } of [first, second]) assert.ok(!bytes.includes(raw), `${encoding}: ${text}`)
        }
      await client.close()
    })

    test('SQL_ASCII is what the database has', async () => {
      const client = await open()
      client.write(query('set client_encoding to sql_ascii'))
      await client.read()
      client.write(query(`select 'é', email from public."Kunden Döner"`))
      assert.deepEqual((await client.read()).values, [Buffer.from('é'), Buffer.from(mask)])
      await client.close()
    })

    clause(
      'GATE-69',
      'Where backslashes escape in plain strings, statements are read as PostgreSQL reads them there…',
      async () => {
        const client = await open()
        const ask = async (...texts: string[]) => {
          client.write(...texts.map((text) => query(text)))
          const answer = await client.read(texts.length)
          assert.ok(!answer.bytes.includes(raw), texts.join('; '))
          return answer
        }
        await ask('set standard_conforming_strings = off; set escape_string_warning = off')
        const good = await ask("select 'it\\'s \\\\', N'\\'', email from public.customers -- '")
        assert.deepEqual(good.values.map(String), ["it's \\", "'", mask])
        const { error } = await ask("select '\\'', email, nothere from public.customers")
        assert.equal(error?.get('P'), '21')
        for (const text of [
          "select 'a\\'; select email from public.customers --'",
          "select '\\' , email from public.customers --'",
          "select E'\\'' , '\\', email from public.customers --'",
          "select U&'\\' , email from public.customers --'",
          "select b'1'\n'\\', email from public.customers --'",
          "select $a$'\\$a$, '\\'', email from public.customers",
          "select '/*\\'', email from public.customers --*/",
          "select \"\\\" , '\\'', email from public.customers",
        ])
          await ask(text)
        // Changed in the middle of a text, and of what is on its way.
        await ask("set standard_conforming_strings = on; select '\\', email from public.customers --'")
        await ask("set standard_conforming_strings = off; select '\\'', email from public.customers --'")
        await ask('set standard_conforming_strings = on', "select '\\', email from public.customers --'")
        await ask('set standard_conforming_strings = off', "select '\\'', email from public.customers --'")
        await ask('set backslash_quote = off', "select '\\'', email from public.customers --'")
        await ask(
          "set backslash_quote = on; set quote_all_identifiers = on; select '\\'', email from public.customers",
        )
        await client.close()
      },
    )
  })
})
