import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { int32, message, query } from '../../../src/wire/messages.ts'
import { connectWire } from '../../support/byte-client.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { bringPeople } from '../../support/people.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

interface Entry {
  readonly action: string
  readonly requestId: string
  readonly resourceId: string
  readonly time: string
  readonly actor: { readonly kind: string; readonly objectId: string }
  readonly after: {
    readonly role: string
    readonly from: string
    readonly seconds?: number
    readonly statements: number | Touch[]
    readonly leftOut?: number
  }
}

interface Touch {
  readonly kind: string
  readonly count: number
  readonly masked?: string[]
  readonly raw?: string[]
  readonly written?: string[]
  readonly denied?: string[]
  readonly unparsed?: true
}

type WireClient = Awaited<ReturnType<typeof connectWire>>

const parse = (text: string) => message('P', `\0${text}\0`, Buffer.alloc(2))
const bind = () => message('B', '\0\0', Buffer.alloc(6))
const execute = message('E', '\0', Buffer.alloc(4))

/** A function by its id, with arguments as text. */
function call(oid: number, ...values: readonly string[]): Buffer {
  const short = (value: number) => int32(value).subarray(2)
  const parts = values.flatMap((value) => [int32(Buffer.byteLength(value)), value])
  return message('F', int32(oid), short(0), short(values.length), ...parts, short(0))
}

const email = 'public.customers.email'

describe('what statements touch', () => {
  const gateway = useGateway()
  const isOver = new AbortController()
  after(() => isOver.abort())

  async function readAudit(): Promise<Entry[]> {
    const answer = await gateway.masking.send(
      'GET',
      `${gateway.db}/auditEvents?api-version=2014-04-01&$top=1000`,
    )
    assert.equal(answer.status, 200, answer.text)
    return answer.body.value.reverse()
  }

  /** The entries about whatever connects meanwhile, once its session is over. */
  async function audit(role: string, run: (client: pg.Client) => Promise<unknown>): Promise<Entry[]> {
    return auditOf(async () => {
      const client = await gateway.connect(role)
      await run(client)
      await client.end()
    })
  }

  async function auditOf(run: () => Promise<void>): Promise<Entry[]> {
    const before = new Set((await readAudit()).map(({ requestId }) => requestId))
    await run()
    const fresh = await waitUntil('the end of the session in the audit', async () => {
      const entries = (await readAudit()).filter(({ requestId }) => !before.has(requestId))
      return entries.some(({ action }) => action === 'gateway/disconnect') && entries
    })
    return fresh || []
  }

  function touchesOf(entries: readonly Entry[]): Touch[] {
    const sums = new Map<string, Touch>()
    for (const { action, after: described } of entries)
      if (action === 'gateway/touch')
        for (const { count, ...what } of described.statements as Touch[]) {
          const key = JSON.stringify(what)
          sums.set(key, { ...what, count: count + (sums.get(key)?.count ?? 0) })
        }
    return [...sums.values()]
  }

  async function touches(role: string, run: (client: pg.Client) => Promise<unknown>): Promise<Touch[]> {
    return touchesOf(await audit(role, run))
  }

  /** The same of a client that says what it likes. */
  async function wireTouches(role: string, run: (client: WireClient) => Promise<unknown>): Promise<Touch[]> {
    const entries = await auditOf(async () => {
      const client = await connectWire({
        host: '127.0.0.1',
        port: gateway.port(),
        user: gateway.masked().role(role),
        password: 'secret',
        database: gateway.name,
      })
      await run(client)
      await client.close()
    })
    return touchesOf(entries)
  }

  clause(
    'GATE-40',
    'The audit records for every session when it began (`gateway/connect`) and ended…',
    async () => {
      const entries = await audit('analyst', async (client) => {
        await client.query('select 1')
        await client.query('select $1::int', [1])
      })
      assert.deepEqual(
        entries.map(({ action }) => action),
        ['gateway/connect', 'gateway/disconnect'],
      )
      const role = gateway.masked().role('analyst')
      for (const { actor, requestId, resourceId, after: described } of entries) {
        assert.deepEqual(actor, { kind: 'databaseRole', objectId: role, applicationId: '' })
        assert.equal(requestId, entries[0]?.requestId)
        assert.equal(resourceId, gateway.db.toLowerCase())
        assert.equal(described.role, role)
        assert.match(described.from, /127\.0\.0\.1/)
      }
      const { seconds = 0, statements } = entries[1]?.after ?? {}
      assert.ok(seconds > 0 && seconds < 60)
      assert.equal(statements, 2)
    },
  )

  clause(
    'GATE-41',
    'The audit records which masked columns the statements of a session touched…',
    async () => {
      const entries = await audit('analyst', async (client) => {
        for (const id of [1, 2])
          await client.query(`select email from customers where id = ${id} and email <> 'canary1'`)
        await client.query("insert into public.customers values (41, 'canary2', $1, null)", ['canary3'])
        await client.query("update customers set email = 'canary4' where id = 41")
        await client.query('delete from customers where id = 41')
        await client.query('select id, name from customers')
      })
      assert.deepEqual(touchesOf(entries), [
        { kind: 'SELECT', count: 2, masked: [email] },
        { kind: 'INSERT', count: 1, written: [email] },
        { kind: 'UPDATE', count: 1, written: [email] },
        { kind: 'DELETE', count: 1, written: [email] },
      ])
      assert.doesNotMatch(JSON.stringify(entries), /canary|where/i)
      assert.equal(new Set(entries.map(({ requestId }) => requestId)).size, 1)
    },
  )

  clause(
    'GATE-42',
    'Statements count each time that they run: as simple queries, several in one, prepared by…',
    async () => {
      const found = await touches('analyst', async (client) => {
        await client.query('table customers; select 1; table customers')
        for (let id = 1; id <= 3; id++) {
          await client.query({
            name: 'by-id',
            text: 'select email from customers where id = $1',
            values: [id],
          })
          await client.query('select email from customers where id = $1', [id])
          await client.query({ name: 'other', text: 'select $1::int', values: [id] })
        }
        await client.query('prepare mails as select email from customers')
        await client.query('execute mails')
        await client.query('execute mails')
        await client.query('explain execute mails')
        await client.query('execute "by-id" (1)')
        await client.query('create temp table kept as execute mails')
        await client.query('begin; declare c cursor for table customers; fetch 1 from c; commit')
        await client.query('explain table customers')
        for await (const _ of client.query(copyTo('copy customers (email) to stdout')));
        await assert.rejects(client.query('update customers set name = email'), { code: '42501' })
      })
      const masked = [email]
      assert.deepEqual(found, [
        // Two simple ones, three by name and one more by EXECUTE, and three without a name.
        { kind: 'SELECT', masked, count: 2 + 4 + 3 },
        { kind: 'PREPARE', masked, count: 4 },
        { kind: 'DECLARE', masked, count: 1 },
        { kind: 'EXPLAIN', masked, count: 1 },
        { kind: 'COPY', masked, count: 1 },
        { kind: 'UPDATE', denied: masked, count: 1 },
      ])
    },
  )

  clause(
    'GATE-43',
    'The audit never misses a column that PostgreSQL requires SELECT on, wherever it stands and…',
    async () => {
      const kunden = 'sales."Kunden Döner"."e-mail"'
      const found = await touches('analyst', async (client) => {
        await client.query('select id from adults')
        await client.query('select k."e-mail" from sales."Kunden Döner" k')
        await client.query('create view public.mine as select email from customers')
        await client.query('drop view public.mine')
        await client.query(
          'select row_to_json(c), k.id from customers c, sales."Kunden Döner" k where c.id = k.id',
        )
      })
      assert.deepEqual(found, [
        { kind: 'SELECT', masked: [email], count: 2 },
        { kind: 'SELECT', masked: [kunden], count: 1 },
        { kind: 'CREATE VIEW', masked: [email], count: 1 },
      ])
    },
  )

  clause(
    'GATE-44',
    'Reads by exempt roles, owners and superusers are recorded as raw, and their statements…',
    async () => {
      const raw = [email]
      const found = await touches('auditor', async (client) => {
        for (const text of ['select email from customers', 'select id from public.adults', 'table customers'])
          await client.query(text)
        await client.query('select email from masked_public.customers')
        const { rows } = await client.query(
          'select current_query() as text, email from public.customers where id = 1',
        )
        assert.deepEqual(rows, [
          {
            text: 'select current_query() as text, email from public.customers where id = 1',
            email: 'ann@example.com',
          },
        ])
        for (let run = 0; run < 2; run++)
          await client.query({ name: 'q', text: 'select email from customers where id = $1', values: [1] })
        for await (const _ of client.query(copyTo('copy public.customers to stdout')));
      })
      assert.deepEqual(found, [
        { kind: 'SELECT', raw, count: 6 },
        { kind: 'SELECT', masked: raw, count: 1 },
        { kind: 'COPY', raw, count: 1 },
      ])
    },
  )

  clause(
    'GATE-45',
    'A statement that may read masked columns and was not looked into is `unparsed`…',
    async () => {
      const found = await touches('auditor', async (client) => {
        await client.query(`do $$ begin perform email from public.customers; end $$`)
        await client.query(`select query_to_xml('select email from customers', true, true, '')`)
        await client.query(`select email, '${'x'.repeat(70_000)}' from public.customers`)
        await client.query(`select '${'x'.repeat(1_100_000)}' from public.customers`)
        await client.query(`select '${'x'.repeat(1_100_000)}' from public.customers where id = $1`, [1])
        await assert.rejects(client.query('select email from customers where'), { code: '42601' })
        await client.query("set client_encoding = 'EUC_JIS_2004'")
        // One letter there, of two bytes, and not one that is known here.
        await client.query("select email from customers where name <> 'é'")
      })
      assert.deepEqual(found, [
        { kind: 'DO', unparsed: true, count: 1 },
        { kind: 'SELECT', unparsed: true, count: 1 },
        { kind: 'UNKNOWN', unparsed: true, count: 4 },
        { kind: 'SELECT', raw: [email], count: 1 },
      ])
    },
  )

  // What is run by other means than its own text.
  clause(
    'GATE-45',
    'A statement that may read masked columns and was not looked into is `unparsed`…',
    async () => {
      const found = await touches('auditor', async (client) => {
        await client.query(
          `create function pg_temp.f() returns text language sql as 'select email from public.customers'`,
        )
        await client.query('select pg_temp.f()')
        await client.query('select upper($1)', ['a'])
      })
      assert.deepEqual(found, [
        { kind: 'CREATE FUNCTION', unparsed: true, count: 1 },
        { kind: 'SELECT', unparsed: true, count: 1 },
      ])
      const called = await wireTouches('auditor', async (client) => {
        client.write(query("select oid from pg_proc where proname = 'query_to_xml'"))
        const [oid] = (await client.read()).values
        const calls = ['select email from public.customers', 'true', 'true', '']
        client.write(call(Number(oid), ...calls), call(Number(oid), 'x'.repeat(1_100_000)))
        assert.match((await client.read()).bytes.toString(), /ann@example.com/)
        await client.read()
        client.write(query('begin'), call(957, '-1'), query('commit'))
        assert.doesNotMatch((await client.read(3)).types, /E/)
      })
      assert.deepEqual(called, [{ kind: 'UNKNOWN', unparsed: true, count: 2 }])
    },
  )

  // Settings that are sent together with what they change the meaning of.
  clause(
    'GATE-45',
    'A statement that may read masked columns and was not looked into is `unparsed`…',
    async () => {
      const unknown = { kind: 'UNKNOWN', unparsed: true } as const
      const hidden = query(`select '\\'', email from public.customers --'`)
      const set = 'set standard_conforming_strings = off'
      const shows = async (client: WireClient, times = 1) =>
        assert.match((await client.read(times)).bytes.toString(), /ann@example\.com/)
      assert.deepEqual(
        await wireTouches('auditor', async (client) => {
          client.write(query(set), hidden)
          await shows(client, 2)
          client.write(hidden)
          await shows(client)
          client.write(query(set), query('select 1'))
          await client.read(2)
        }),
        [
          { ...unknown, count: 1 },
          { kind: 'SELECT', raw: [email], count: 1 },
        ],
      )
      const extended = await wireTouches('auditor', async (client) => {
        client.write(parse(set), bind(), execute, message('H'))
        while ((await client.reader.takeFrame(1 << 20))[0] !== 'C'.charCodeAt(0));
        client.write(hidden)
        await shows(client)
      })
      assert.deepEqual(extended, [{ ...unknown, count: 1 }])
      const portal = await wireTouches('auditor', async (client) => {
        client.write(query('begin'), parse(set), bind(), message('S'))
        await client.read(2)
        client.write(execute, hidden)
        await shows(client)
      })
      assert.deepEqual(portal, [{ ...unknown, count: 1 }])
      const letters = await wireTouches('auditor', async (client) => {
        client.write(
          query('set client_encoding = latin1'),
          query("select email from customers where name <> 'é'"),
        )
        await shows(client, 2)
        client.write(query("select email from customers where name <> 'é'"))
        await shows(client)
      })
      assert.deepEqual(letters, [
        { kind: 'SELECT', raw: [email], count: 2 },
        { ...unknown, count: 1 },
      ])
    },
  )

  clause(
    'GATE-204',
    'A read that is raw after SET ROLE is recorded as raw, whether or not the session has set the…',
    async () => {
      const { role, createRole, database } = gateway.masked()
      const setter = await createRole('setter', 'LOGIN NOINHERIT')
      const keeper = await createRole('keeper', 'LOGIN NOINHERIT')
      await database.sql.unsafe(`grant "${role('auditor')}" to "${setter}"; create role "${role('group')}";
      grant "${role('group')}" to "${keeper}"`)
      const read = (name: string, become: string, text = 'select email from public.customers') =>
        touches(name, async (client) => {
          await client.query(`set role "${role(become)}"`)
          return client.query(text)
        })
      assert.deepEqual(await read('setter', 'auditor'), [{ kind: 'SELECT', raw: [email], count: 1 }])
      // Samples of the columns that a role may read.
      const samples = await read('keeper', 'group', 'select from pg_stats')
      assert.deepEqual(samples, [{ kind: 'SELECT', unparsed: true, count: 1 }])
      await database.sql.unsafe(`drop role "${role('group')}"`)
    },
  )

  clause(
    'GATE-205',
    'A statement that names a catalog with samples of values (`pg_stats`, `pg_stats_ext`,…',
    async () => {
      const { sql } = gateway.masked().database
      await sql.unsafe(
        'analyze public.customers; create schema own; create view own.pg_stats as select 1 as one',
      )
      await sql.unsafe('grant usage on schema own to public; grant select on own.pg_stats to public')
      const all = [email, 'sales."Kunden Döner"."e-mail"']
      const reads = async (role: string, from: string) =>
        touches(role, (client) => client.query(`select * from ${from}`).catch(() => {}))
      const sampled = await (await gateway.connect('auditor')).query(
        "select histogram_bounds::text as values from pg_stats where tablename = 'customers' and attname = 'email'",
      )
      assert.match(sampled.rows[0].values, /ann@example\.com/)
      for (const from of ['pg_stats', 'pg_catalog.pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs'])
        assert.deepEqual(await reads('auditor', from), [{ kind: 'SELECT', raw: all, count: 1 }], from)
      const closed = [{ kind: 'SELECT', unparsed: true, count: 1 }]
      assert.deepEqual(await reads('auditor', 'pg_statistic'), closed)
      assert.deepEqual(await reads('auditor', 'own.pg_stats'), [])
      assert.deepEqual(await reads('analyst', 'pg_stats'), closed)
      const sampler = await gateway.masked().createRole('sampler')
      await sql.unsafe(`grant select on pg_catalog.pg_statistic to "${sampler}"`)
      assert.deepEqual(await reads('sampler', 'pg_statistic'), [{ kind: 'SELECT', raw: all, count: 1 }])
      await sql.unsafe(`revoke select on pg_catalog.pg_statistic from "${sampler}"`)
    },
  )

  clause(
    'GATE-46',
    'The first touch of a column by a session is in the audit after a second; further touches…',
    async () => {
      const client = await gateway.connect('analyst')
      const own = async () => {
        const entries = await readAudit()
        const { requestId } = entries.findLast(({ action }) => action === 'gateway/connect') ?? {}
        return entries.filter((entry) => entry.requestId === requestId && entry.action === 'gateway/touch')
      }
      await client.query('table customers')
      await waitUntil('the first touch in the audit', async () => (await own()).length === 1)
      for (let run = 0; run < 3; run++) await client.query('table customers')
      await holdsFor(3_000, 'it is nothing new', async () => (await own()).length === 1)
      await client.query('copy customers to stdout')
      await waitUntil('the second touch in the audit', async () => (await own()).length > 1)
      const [first, second, ...others] = await own()
      assert.deepEqual(others, [])
      assert.deepEqual(touchesOf(first ? [first] : []), [{ kind: 'SELECT', masked: [email], count: 1 }])
      assert.deepEqual(touchesOf(second ? [second] : []), [
        { kind: 'SELECT', masked: [email], count: 3 },
        { kind: 'COPY', masked: [email], count: 1 },
      ])
      await client.end()
    },
  )

  clause(
    'GATE-48',
    '`/metrics` counts sessions opened, open and refused by SQLSTATE, texts of…',
    async () => {
      const { httpPort } = gateway.masking.service().listeners
      const read = async () => {
        const text = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
        return (line: string) =>
          Number(text.match(new RegExp(`^masquerade_gateway_${line} (\\d+)$`, 'm'))?.[1] ?? 0)
      }
      const before = await read()
      await touches('auditor', async (client) => client.query('table customers; do $$ begin end $$'))
      await touches('analyst', async (client) => {
        await client.query('table customers')
        await client.query('select 1')
        await client.query("insert into customers (id, email) values (51, 'x')")
        await client.query('update customers set email = email').catch(() => {})
        await client.query('select from customers where').catch(() => {})
      })
      await assert.rejects(gateway.connect('analyst', { database: 'nothere' }))
      const later = await read()
      const grown = (line: string) => later(line) - before(line)
      assert.equal(grown('connections_total'), 2)
      assert.equal(grown('refusals_total\\{sqlstate="3D000"\\}'), 1)
      assert.equal(grown('statements_total\\{outcome="moved"\\}'), 1)
      assert.equal(grown('statements_total\\{outcome="plain"\\}'), 4)
      assert.equal(grown('statements_total\\{outcome="unparsed"\\}'), 1)
      const touched = ['raw', 'masked', 'denied', 'written'].map((how) =>
        grown(`touched_columns_total\\{how="${how}"\\}`),
      )
      assert.deepEqual(touched, [1, 1, 1, 1])
      assert.ok(grown('client_bytes_total\\{direction="sent"\\}') > 100)
      assert.ok(grown('client_bytes_total\\{direction="received"\\}') > 100)
    },
  )

  // Of a directory login, all entries name the principal.
  clause(
    'GATE-40',
    'The audit records for every session when it began (`gateway/connect`) and ended…',
    async () => {
      const people = await bringPeople(gateway)
      const group = await people.directory.group()
      await people.map(group)
      const ana = await people.user(group)
      const client = await people.connect(ana.name, ana.token)
      await client.query('select email from public.customers')
      await client.end()
      let own: Entry[] = []
      await waitUntil('the entries of the session', async () => {
        own = (await readAudit()).filter(
          ({ actor }) => actor.objectId === ana.id && actor.kind === 'delegated',
        )
        return own.length >= 3
      })
      assert.deepEqual(
        own.map(({ action }) => action),
        ['gateway/connect', 'gateway/touch', 'gateway/disconnect'],
      )
      assert.equal(new Set(own.map(({ requestId }) => requestId)).size, 1)
      assert.deepEqual(touchesOf(own), [{ kind: 'SELECT', masked: [email], count: 1 }])
    },
  )

  test('a session of a role that nothing is masked for and that is exempt of nothing is silent', async () => {
    assert.deepEqual(await touches('analyst', async (client) => client.query('select * from notes')), [])
  })

  // A statement that was prepared when nothing in it was masked is not taken for one that touches nothing.
  clause(
    'GATE-45',
    'A statement that may read masked columns and was not looked into is `unparsed`…',
    async () => {
      const body = { name: 'body', text: 'select body from notes where id = $1', values: [1] }
      const found = await touches('auditor', async (client) => {
        await client.query(body)
        await client.query('prepare early as select body from notes')
        const rule = {
          schemaName: 'public',
          tableName: 'notes',
          columnName: 'body',
          maskingFunction: 'Default',
        }
        const put = await gateway.masking.putRule(gateway.db, 'notes-body', rule)
        assert.equal(put.status, 201, put.text)
        // By message it is prepared again.
        await client.query(body)
        await client.query('execute early')
        await client.query('select body from notes')
      })
      assert.deepEqual(found, [
        { kind: 'SELECT', raw: ['public.notes.body'], count: 2 },
        { kind: 'UNKNOWN', unparsed: true, count: 1 },
      ])
    },
  )

  // A name that means something else by another path.
  clause(
    'GATE-43',
    'The audit never misses a column that PostgreSQL requires SELECT on, wherever it stands and…',
    async () => {
      const unknown = { kind: 'UNKNOWN', unparsed: true } as const
      const { sql } = gateway.masked().database
      await sql.unsafe(`create schema decoy; create table decoy.customers (id int, email text);
        grant usage on schema decoy to public; grant select on decoy.customers to public`)
      const sets = "select set_config('search_' || 'path', 'public', false)"
      const reads = 'select email from customers'
      // The masks are read again with the names that share theirs.
      const rule = {
        schemaName: 'public',
        tableName: 'customers',
        columnName: 'name',
        maskingFunction: 'Default',
      }
      const put = await gateway.masking.putRule(gateway.db, 'customers-name', rule)
      assert.equal(put.status, 201, put.text)
      const start = 'set search_path = decoy'
      const together = await touches('auditor', async (client) => {
        await client.query(start)
        await client.query(reads)
        const [, found] = (await client.query(`${sets}; ${reads}`)) as unknown as pg.QueryResult[]
        assert.equal(found?.rows[0]?.email, 'ann@example.com')
        await client.query(reads)
      })
      assert.deepEqual(together, [
        { ...unknown, count: 1 },
        { kind: 'SELECT', raw: [email], count: 1 },
      ])
      const pipelined = await wireTouches('auditor', async (client) => {
        client.write(query(start), query('select 1'))
        await client.read(2)
        client.write(query(sets), query(reads))
        assert.match((await client.read(2)).bytes.toString(), /ann@example\.com/)
      })
      assert.deepEqual(pipelined, [{ ...unknown, count: 1 }])
      const prepared = await touches('auditor', async (client) => {
        await client.query(start)
        const named = { name: 'n', text: reads, values: [] }
        for (let run = 0; run < 2; run++) await client.query(named)
        await client.query(`prepare p as ${reads}`)
        await client.query('execute p')
        await client.query(sets)
        assert.equal((await client.query(named)).rows[0]?.email, 'ann@example.com')
        assert.equal((await client.query('execute p')).rows[0]?.email, 'ann@example.com')
      })
      assert.deepEqual(prepared, [{ ...unknown, count: 2 }])
    },
  )
})
