import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runCommand, startCommand } from '../../support/command.ts'
import { findDumpPrograms } from '../../support/dump-programs.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { apiVersion, emailRule, freshDatabase, policyUrl, ruleUrl } from '../../support/masking.ts'
import { listClusters } from '../../support/postgres.ts'
import { dumpSchema, listPrivileges } from '../../support/privileges.ts'
import { runHere } from '../../support/run-here.ts'
import { waitUntil } from '../../support/wait-until.ts'

const cluster = listClusters().findLast(findDumpPrograms) ?? 'embedded-18'

describe('a service killed while it enforces a rule', () => {
  const db = freshDatabase()
  const place = db
    .split('/')
    .filter((_part, at) => [2, 4, 8, 10].includes(at))
    .join('/')
  let directory: string
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let analyst: string
  let unmasked: Awaited<ReturnType<typeof seeSchema>>

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'masquerade-interrupted-'))
    target = await createMaskedDatabase(cluster)
    analyst = await target.createRole('analyst')
    await target.database.sql.unsafe(`
      create table public.person (id int, email text, phone text);
      insert into public.person values (1, 'ann@example.com', '555');
      create table public.staff (id int, email text); create view public.mails as select email from public.staff;
      grant usage on schema public to public; grant select on public.person, public.staff, public.mails to "${analyst}";
      grant select (email) on public.person to public`)
    unmasked = await seeSchema()
  })
  after(async () => {
    await target[Symbol.asyncDispose]()
    await rm(directory, { recursive: true, force: true })
  })

  const seeSchema = async () => ({
    privileges: await listPrivileges(target.database, [analyst]),
    dump: dumpSchema(cluster, target.url),
  })
  const listTwins = async () => {
    const rows = await target.database.sql<{ name: string }[]>`
      select viewname::text as name from pg_views where schemaname = 'masked_public' order by 1`
    return rows.map(({ name }) => name)
  }
  const start = async () => {
    const environment = {
      MASQUERADE_DATA_DIR: join(directory, 'data'),
      MASQUERADE_HTTP_PORT: '0',
      MASQUERADE_HTTPS_PORT: '0',
      MASQUERADE_GATEWAY_PORT: '0',
      XDG_CONFIG_HOME: directory,
    }
    const service = startCommand(['serve'], environment)
    const origin = /http:\/\/[\w.:]+/.exec(await service.waitFor(/Ctrl\+C/))?.[0] ?? ''
    const token = (await runCommand(['token', '--admin'], environment)).stdout.trim()
    const send = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${origin}${path}?${apiVersion}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return (await response.json()) as { state?: string }
    }
    const restore = () =>
      runHere(['database', 'unbind', place, '--restore', '--yes', '--url', origin, '--token', token], {
        environment,
      })
    return {
      ...service,
      send,
      restore,
      state: async () => (await send('GET', `${policyUrl(db)}/enforcement`)).state,
    }
  }

  test('says Pending when it is back, unmasks nothing, and finishes', async () => {
    const killed = await start()
    const { hostname, port, username, password, pathname } = new URL(target.url)
    const account = { user: username, password: decodeURIComponent(password) }
    const binding = { host: hostname, port: Number(port), database: pathname.slice(1), ...account }
    await killed.send('PUT', db, { properties: { binding } })
    await killed.send('PUT', ruleUrl(db, 'mail'), { properties: emailRule })
    assert.equal(await killed.state(), 'Enforced')

    const holder = Promise.withResolvers<void>()
    const held = target.database.transaction(async (tx) => {
      await tx.unsafe('lock table public.person in access exclusive mode')
      const phone = { ...emailRule, columnName: 'phone' }
      const put = killed.send('PUT', ruleUrl(db, 'phone'), { properties: phone }).catch(() => {})
      await waitUntil(
        'the rule is stored',
        async () => (await killed.state().catch(() => 'gone')) !== 'Enforced',
      )
      killed.child.kill('SIGKILL')
      await put
      await holder.promise
    })
    await killed.ended
    const next = await start()
    assert.equal(await next.state(), 'Pending')
    holder.resolve()
    await held
    const session = target.connectAs('analyst')
    await assert.rejects(session.sql`select email from public.person`, /permission denied/)
    await waitUntil('the rule is enforced', async () => (await next.state()) === 'Enforced')
    await assert.rejects(session.sql`select phone from public.person`, /permission denied/)
    const [row] = await session.sql`select email, phone from masked_public.person`
    assert.deepEqual(row, { email: 'aXXX@XXXX.com', phone: '5XXX@XXXX.com' })
    next.child.kill('SIGTERM')
    assert.equal((await next.ended).code, 0)
  })

  test('an undo that was killed between its steps leaves nothing when it is repeated', async () => {
    const killed = await start()
    await killed.send('PUT', ruleUrl(db, 'staff'), { properties: { ...emailRule, tableName: 'staff' } })
    await waitUntil('all is masked', async () => (await killed.state()) === 'Enforced')
    assert.deepEqual(await listTwins(), ['mails', 'person', 'staff'])
    await target.database.transaction(async (tx) => {
      await tx.unsafe('lock table masked_public.person in access share mode')
      const undo = killed.restore()
      await waitUntil('some twins are gone', async () => (await listTwins()).length === 1)
      killed.child.kill('SIGKILL')
      assert.notEqual((await undo).code, 0)
    })
    await killed.ended
    assert.deepEqual(await listTwins(), ['person'])

    const next = await start()
    let isOver = false
    const cut = async () => {
      const { sql } = target.database
      let told: readonly { pid: number }[] = []
      while (!isOver)
        told = await sql<{ pid: number }[]>`
          select pid, pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'masquerade enforcement'`
      // One that is still to end would cut the next attempt too.
      await waitUntil('the sessions that were cut are gone', async () => {
        const left =
          await sql`select from pg_stat_activity where pid = any(${told.map(({ pid }) => pid)}::int[])`
        return left.length === 0
      })
    }
    const cutting = cut()
    await next.restore()
    isOver = true
    await cutting
    const undone = await next.restore()
    assert.equal(undone.code, 0, undone.stdout + undone.stderr)
    assert.deepEqual(await seeSchema(), unmasked)
    assert.equal((await next.restore()).code, 0)
    next.child.kill('SIGTERM')
    assert.equal((await next.ended).code, 0)
  })
})
