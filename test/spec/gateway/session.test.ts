import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { int32 } from '../../../src/wire/messages.ts'
import { writeCancel } from '../../../src/wire/startup.ts'
import { sendCancel } from '../../support/cancel.ts'
import { useGateway } from '../../support/gateway.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

describe('a session through the gateway', () => {
  const gateway = useGateway({ MASQUERADE_GATEWAY_CONNECTIONS_PER_ROLE: '8' })

  test('a masked role sees masks in a table written out in full, an exempt one raw values', async () => {
    const analyst = await gateway.connect('analyst')
    const auditor = await gateway.connect('auditor')
    for (const text of [
      'select email from public.customers where id = 1',
      'select email from customers limit 1',
    ]) {
      assert.equal((await analyst.query(text)).rows[0].email, 'aXXX@XXXX.com')
      assert.equal((await auditor.query(text)).rows[0].email, 'ann@example.com')
    }
    await analyst.end()
    await auditor.end()
  })

  test('prepared, with parameters and in binary', async () => {
    const analyst = await gateway.connect('analyst')
    for (let round = 0; round < 2; round++) {
      const { rows } = await analyst.query({
        name: 'by-id',
        text: 'select c.email, public.customers.id from public.customers, public.customers c where c.id = $1 and public.customers.id = c.id',
        values: [1],
      })
      assert.deepEqual(rows, [{ email: 'aXXX@XXXX.com', id: 1 }])
    }
    const inBinary = { text: 'select email from customers where id = $1', values: [2], binary: true }
    assert.equal((await analyst.query(inBinary as pg.QueryConfig)).rows[0].email, 'bXXX@XXXX.com')
    await analyst.end()
  })

  test('writes go to the table itself', async () => {
    const analyst = await gateway.connect('analyst')
    await analyst.query("insert into public.customers values (7, 'gil', 'gil@example.com', null)")
    await analyst.query("update public.customers set email = 'new@example.com' where id = 7")
    const [row] = await gateway.masked().database.sql`select email from public.customers where id = 7`
    assert.equal(row?.email, 'new@example.com')
    await analyst.query('delete from customers where id = 7')
    await assert.rejects(analyst.query('update public.customers set name = email where id = 1'), {
      code: '42501',
    })
    await analyst.end()
  })

  test('COPY both ways, cursors, notifications, several statements in one', async () => {
    const analyst = await gateway.connect('analyst')
    const out: Buffer[] = []
    for await (const chunk of analyst.query(copyTo('copy public.customers (id, email) to stdout')))
      out.push(chunk)
    assert.equal(Buffer.concat(out).toString(), '1\taXXX@XXXX.com\n2\tbXXX@XXXX.com\n')

    const into = analyst.query(copyFrom('copy public.notes (body) from stdin'))
    into.end('select public.customers\n'.repeat(2000))
    await once(into, 'finish')
    const [counted] = await gateway.masked().database.sql`select count(*)::int as n from public.notes`
    assert.equal(counted?.n, 2000)

    await analyst.query('begin; declare c cursor for table public.customers')
    assert.equal((await analyst.query('fetch 1 from c')).rows[0].email, 'aXXX@XXXX.com')
    await analyst.query('commit')

    const heard = once(analyst, 'notification')
    await analyst.query('listen news')
    await gateway.masked().database.sql`select pg_notify('news', 'hello')`
    assert.equal((await heard)[0].payload, 'hello')

    const results = (await analyst.query(
      'select 1 as one; select email from adults; select 2',
    )) as unknown as pg.QueryResult[]
    assert.equal(results[1]?.rows[0].email, 'aXXX@XXXX.com')
    await analyst.end()
  })

  test('a lock on a masked table is one on the table itself', async () => {
    const analyst = await gateway.connect('analyst')
    const { pid } = (await analyst.query('select pg_backend_pid() as pid')).rows[0]
    const readLocks = async (mode: string) => {
      const rows = await gateway.masked().database.sql<{ name: string }[]>`
        select relation::regclass::text as name from pg_locks
        where pid = ${pid} and mode = ${mode} and relation::regclass::text like '%customers' order by 1`
      return rows.map(({ name }) => name)
    }
    await analyst.query('begin; lock table public.customers in share mode')
    assert.deepEqual(await readLocks('ShareLock'), ['customers'])
    const writer = await gateway.connect('analyst')
    await writer.query("set lock_timeout = '300ms'")
    const write = "update public.customers set name = 'ann' where id = 1"
    await assert.rejects(writer.query(write), { code: '55P03' })
    await analyst.query('commit')
    assert.equal((await writer.query(write)).rowCount, 1)
    await writer.end()

    // A role that may only read does so through the twin, and with it locks the table.
    await analyst.query('begin; lock table public.customers in access share mode')
    const [table, twin] = await readLocks('AccessShareLock')
    assert.equal(table, 'customers')
    assert.match(twin ?? '', /\.customers$/)
    await analyst.query('commit')
    await analyst.end()
  })

  test('an error points into the text that the client wrote', async () => {
    const analyst = await gateway.connect('analyst')
    const text = "select 'é', email, nothere from public.customers"
    for (const run of [() => analyst.query(text), () => analyst.query(text, [])])
      await assert.rejects(run, { code: '42703', position: String(text.indexOf('nothere') + 1) })
    const later = 'select id from public.customers where nothere = 1'
    for (const run of [() => analyst.query(later), () => analyst.query({ text: later, name: 'x' })])
      await assert.rejects(run, { code: '42703', position: String(later.indexOf('nothere') + 1) })
    await assert.rejects(analyst.query('select 1 from x'), { position: '15' })
    await analyst.end()
  })

  test('the database is named alone or with its server; others are not there', async () => {
    for (const database of [gateway.name, `srv/${gateway.name}`, `SRV/${gateway.name.toUpperCase()}`]) {
      const client = await gateway.connect('analyst', { database })
      assert.equal((await client.query('select 1 as one')).rows[0].one, 1)
      await client.end()
    }
    for (const database of ['nothere', `other/${gateway.name}`, `srv/${gateway.name}/x`, "' or true --", ''])
      await assert.rejects(gateway.connect('analyst', { database: database || 'postgres' }), {
        code: '3D000',
      })
  })

  test('a wrong password is wrong, and an unknown role nobody', async () => {
    await assert.rejects(gateway.connect('analyst', { password: 'wrong' }), { code: '28P01' })
    await assert.rejects(gateway.connect('nobody'), { code: '28P01' })
  })

  test('a statement is cancelled by its own key alone', async () => {
    const analyst = await gateway.connect('analyst')
    const slow = analyst.query('select pg_sleep(60)')
    const { processID, secretKey } = analyst as unknown as { processID: number; secretKey: number }
    const own = await findSleeper()
    // The process id is PostgreSQL's own (GATE-89); only the secret tells the gateway's sessions apart.
    assert.equal(own?.pid, processID)
    const cancel = async (pid: number, secret: number) => {
      const socket = connect(gateway.port(), '127.0.0.1')
      socket.resume().write(writeCancel(pid, int32(secret)))
      await once(socket, 'close')
    }
    await cancel(processID, secretKey ^ 1)
    await cancel(processID ^ 1, secretKey)
    const other = await gateway.connect('analyst')
    const foreign = other as unknown as { processID: number; secretKey: number }
    await cancel(processID, foreign.secretKey)
    await cancel(foreign.processID, secretKey)
    await cancel(foreign.processID, foreign.secretKey)
    // The server delivers a cancel request at its leisure: one that comes late would hit the next statement.
    await holdsFor(500, 'the statement of another client runs on', isRunning)
    assert.equal((await other.query('select 1 as one')).rows[0].one, 1)
    await other.end()
    const cancelled = assert.rejects(slow, { code: '57014' })
    await cancel(processID, secretKey)
    await cancelled
    const place = { host: '127.0.0.1', port: gateway.port(), ssl: { rejectUnauthorized: false } }
    for (let attempt = 0; attempt < 10; attempt++) {
      const again = analyst.query('select pg_sleep(60)')
      await findSleeper()
      await sendCancel(place, processID, secretKey)
      await assert.rejects(again, { code: '57014' }, 'a client that does not wait is heard too')
    }
    await analyst.end()

    async function findSleeper() {
      // Other tests have statements of the same text at the same server.
      return waitUntil('the statement', async () => {
        const [found] = await gateway.masked().database.sql`
          select pid from pg_stat_activity
          where datname = current_database() and query = 'select pg_sleep(60)' and state = 'active'`
        return found
      })
    }

    async function isRunning() {
      const [row] = await gateway.masked().database.sql`
        select state from pg_stat_activity where pid = ${own?.pid}`
      return row?.state === 'active'
    }
  })

  test('when the database ends a session, the client hears of it', async () => {
    const analyst = await gateway.connect('analyst')
    await analyst.query("begin; insert into public.notes (body) values ('half')")
    const [own] = (await analyst.query('select pg_backend_pid() as pid')).rows
    const slow = assert.rejects(analyst.query('select pg_sleep(60)'), { code: '57P01' })
    const { sql } = gateway.masked().database
    await waitUntil('the statement', async () => {
      const found = await sql`
        select from pg_stat_activity where pid = ${own.pid} and query = 'select pg_sleep(60)' and state = 'active'`
      return found.length > 0
    })
    await sql`select pg_terminate_backend(${own.pid})`
    await slow
    const left = await gateway.masked().database.sql`select 1 from public.notes where body = 'half'`
    assert.equal(left.length, 0)
  })

  test('one role does not take all connections', async () => {
    const clients: pg.Client[] = []
    await assert.rejects(
      async () => {
        for (let count = 0; count < 9; count++) clients.push(await gateway.connect('analyst'))
      },
      { code: '53300' },
    )
    assert.equal(clients.length, 8)
    await (await gateway.connect('auditor')).end()
    for (const client of clients) await client.end()
  })

  test('a change of rules holds for open sessions when it is answered', async () => {
    const analyst = await gateway.connect('analyst')
    const read = async () =>
      (await analyst.query('select name, email from public.customers where id = 1')).rows[0]
    assert.deepEqual(await read(), { name: 'ann', email: 'aXXX@XXXX.com' })
    await gateway.masking.putPolicy(gateway.db, { dataMaskingState: 'Disabled' })
    assert.deepEqual(await read(), { name: 'ann', email: 'ann@example.com' })
    const early = { name: 'early', text: 'select email from public.customers where id = 1' }
    assert.equal((await analyst.query(early)).rows[0].email, 'ann@example.com')
    const exemptPrincipals = gateway.masked().role('auditor')
    await gateway.masking.putPolicy(gateway.db, { dataMaskingState: 'Enabled', exemptPrincipals })
    assert.deepEqual(await read(), { name: 'ann', email: 'aXXX@XXXX.com' })
    // A statement that was prepared under other rules is prepared anew.
    assert.equal((await analyst.query(early)).rows[0].email, 'aXXX@XXXX.com')
    assert.equal((await analyst.query({ ...early, name: 'late' })).rows[0].email, 'aXXX@XXXX.com')
    await analyst.end()
  })

  test('who connected is written down', async () => {
    const role = gateway.masked().role('auditor')
    const rows = await gateway.masking.service().database.sql`
      select target, after from masquerade.audit_event where action = 'gateway/connect' and actor->>'objectId' = ${role}`
    assert.ok(rows.length > 0)
    assert.equal(rows[0]?.target, gateway.db.toLowerCase())
    assert.deepEqual(rows[0]?.after, { role, from: '127.0.0.1', encrypted: false })
  })
})
