import assert from 'node:assert/strict'
import type pg from 'pg'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'

const gateway = useGateway({ MASQUERADE_GATEWAY_MASK_NOTICES: '1' })

/** A client that keeps the notices it gets. */
async function connect(role: string, options: pg.ClientConfig = {}) {
  const client = await gateway.connect(role, options)
  const notices: string[] = []
  client.on('notice', ({ severity, message, hint, detail }) =>
    notices.push(`${severity}: ${message} ${hint ?? detail ?? ''}`.trimEnd()),
  )
  return { client, notices }
}

const customers =
  'NOTICE: "public"."customers" shows masked values to your role \\d+ "masked_public"."customers" shows which columns are masked.'

clause(
  'GATE-95',
  'With `MASQUERADE_GATEWAY_MASK_NOTICES`, a session of a masked role gets a NOTICE when it first reads a masked relation, once for each relation and session. Exempt roles get none, and without the setting no session does.',
  async () => {
    const { client, notices } = await connect('analyst')
    await client.query('select count(*) from notes')
    assert.deepEqual(notices, [])
    const { rows } = await client.query('select email from customers where id = 1')
    assert.deepEqual(rows, [{ email: 'aXXX@XXXX.com' }])
    assert.deepEqual(notices, [customers])
    await client.query('select email from public.customers')
    await client.query({ name: 'one', text: 'select email from customers where id = $1', values: [1] })
    await client.query('select 1; select id from customers')
    assert.deepEqual(notices, [customers])
    await client.query({ text: 'select * from sales."Kunden Döner" where id = $1', values: [1] })
    assert.equal(notices.length, 2)
    assert.match(notices[1] ?? '', /^NOTICE: "sales"."Kunden Döner" shows/)

    const other = await connect('analyst')
    await other.client.query({ name: 'one', text: 'select email from customers where id = $1', values: [1] })
    assert.deepEqual(other.notices, [customers])

    // A statement that is refused reads nothing; one that fails in the middle of its rows keeps the order of messages.
    const third = await connect('analyst')
    await assert.rejects(third.client.query('insert into notes (body) select email from customers'), {
      code: '42501',
    })
    assert.deepEqual(third.notices, [])
    await assert.rejects(third.client.query('select email, 1 / (id - 2) from customers order by id'), {
      code: '22012',
    })
    assert.deepEqual(third.notices, [customers])

    const exempt = await connect('auditor')
    assert.deepEqual((await exempt.client.query('select email from customers where id = 1')).rows, [
      { email: 'ann@example.com' },
    ])
    assert.deepEqual(exempt.notices, [])
  },
)

clause(
  'GATE-95',
  'With `MASQUERADE_GATEWAY_MASK_NOTICES`, a session of a masked role gets a NOTICE…',
  async () => {
    const { client, notices } = await connect('analyst')
    await client.query("set client_encoding to 'LATIN1'")
    await client.query('select * from sales.u&"Kunden D\\00f6ner"')
    assert.deepEqual(
      notices.map((text) => text.slice(0, 40)),
      ['NOTICE: "sales"."Kunden D?ner" shows mas'],
    )
  },
)

/** PostgreSQL plans it with statistics of raw values, prints the plan, and then denies it. */
const estimate = `do $$ begin perform from public.customers where email < 'm' collate "POSIX"; end $$`
const plans = 'set debug_print_plan = on; set client_min_messages = log'
const denied = { code: '42501' }
const logs = (notices: readonly string[]) => notices.filter((notice) => notice.startsWith('LOG'))

clause(
  'GATE-370',
  'Messages of severity LOG do not reach a session of a database with a binding, unless its role is a superuser:…',
  async () => {
    const { sql } = gateway.masked().database
    await sql.unsafe(`insert into public.customers select n, 'x', n || '@example.com' from generate_series(10, 999) n;
      analyze public.customers`)
    const { hostname: host, port, pathname, username, password } = new URL(gateway.masked().url)
    const place = { host, port: Number(port), database: pathname.slice(1) }
    const direct = await connect('analyst', place)
    await direct.client.query(plans)
    await assert.rejects(direct.client.query(estimate), denied)
    assert.match(logs(direct.notices).join(), /plan_rows 9\d\d/, 'the attack is real')

    for (const role of ['analyst', 'auditor']) {
      const { client, notices } = await connect(role)
      await client.query(plans)
      await client.query(estimate).catch(({ code }) => assert.equal(code, denied.code))
      const long = Array.from({ length: 20_000 }, (_, n) => `'${n}'`).join()
      await client.query(`select from pg_class where relname not in (${long})`)
      await client.query(`do $$ begin raise log 'a log'; raise notice 'a notice'; end $$`)
      assert.deepEqual(logs(notices), [], role)
      assert.deepEqual(
        notices.filter((notice) => !notice.includes('masked')),
        ['NOTICE: a notice'],
      )
    }

    const user = decodeURIComponent(username)
    const superuser = await connect('', { user, password: decodeURIComponent(password) })
    await superuser.client.query(`set client_min_messages = log; do $$ begin raise log 'a log'; end $$`)
    assert.deepEqual(superuser.notices, ['LOG: a log'])
    await superuser.client.query(`set role "${gateway.masked().role('analyst')}"`)
    await superuser.client.query(`do $$ begin raise log 'another'; end $$`)
    assert.equal(superuser.notices.length, 1)
  },
)
