import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { chownSync, mkdirSync, mkdtempSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, before, describe } from 'node:test'
import pino from 'pino'
import { openDatabase } from '../../../src/db/database.ts'
import { purgeState } from '../../../src/issuer/state-adapter.ts'
import { clause } from '../../support/clause.ts'
import { startCommand } from '../../support/command.ts'
import { addApplication } from '../../support/issuer.ts'
import { openNetwork } from '../../support/network.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { listPrinted, runPrinted } from '../../support/printed-commands.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { redirectUri, singlePage } from '../../support/sign-in.ts'
import { waitUntil } from '../../support/wait-until.ts'

const mebibyte = 1024 * 1024

function recordLog() {
  const lines: { level: number; msg: string; store?: string }[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  return { lines, log: pino({ level: 'info' }, sink) }
}

const readReady = (service: TestService) => service.request('GET', '/readyz')
const isReady = async (service: TestService) => (await readReady(service)).status === 200
const statesIn = (lines: { store?: string }[]) => lines.flatMap(({ store }) => store ?? [])

function writerOf(service: TestService) {
  const permissions = ['Group.ReadWrite.All', 'Mail.ReadWrite', 'User.Read.All']
  const token = service.tokenFor({ permissions, kind: 'application' })
  return {
    read: () => service.request('GET', '/v1.0/groups', { token }),
    addGroup: () => {
      const mailNickname = randomBytes(8).toString('hex')
      const body = { displayName: 'g', mailNickname, mailEnabled: false, securityEnabled: true }
      return service.request('POST', '/v1.0/groups', { token, body })
    },
    /** So large that no page of the table has room for it. */
    addMessage: () => {
      const content = randomBytes(384 * 1024).toString('base64')
      const body = { subject: 'large', body: { contentType: 'text', content } }
      const path = `/v1.0/users/${service.administrator?.id}/messages`
      return service.request('POST', path, { token, body })
    },
  }
}

async function assertShownFull(service: TestService, refused: Awaited<ReturnType<TestService['request']>>) {
  assert.equal(refused.status, 507, refused.text)
  assert.equal(refused.body.error.code, 'InsufficientStorage')
  assert.match(refused.body.error.message, /disk .* is full/)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  const ready = await readReady(service)
  assert.equal(ready.status, 503)
  assert.match(ready.text, /the disk of the database is full/)
  const metrics = await service.request('GET', '/metrics')
  assert.match(metrics.text, /masquerade_store_state\{state="full"\} 1/)
  assert.match(metrics.text, /masquerade_store_state\{state="ready"\} 0/)
  assert.match(metrics.text, /masquerade_data_free_bytes \d/)
}

describe('a disk that is full', { skip: mountsNothing() }, () => {
  const disks: string[] = []
  /** A file system of its own size, in memory. */
  const mountDisk = (mebibytes: number): string => {
    const place = mkdtempSync(join(tmpdir(), 'masquerade-disk-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=755`, 'tmpfs', place])
    disks.push(place)
    return place
  }
  /** Leaves so many bytes free. */
  const fill = (disk: string, left: number): (() => void) => {
    const { bavail, bsize } = statfsSync(disk)
    const filler = join(disk, 'filler')
    writeFileSync(filler, Buffer.alloc(bavail * bsize - left))
    return () => rmSync(filler, { force: true })
  }

  let disk: string
  let service: TestService
  const { lines, log } = recordLog()
  before(async () => {
    disk = mountDisk(256)
    // Nothing but this service uses the server of this data directory, so its log files grow by its writes alone.
    const environment = { MASQUERADE_DATA_DIR: join(disk, 'data'), MASQUERADE_DATABASE_URL: undefined }
    service = await startTestService({ ...environment, MASQUERADE_DEMO: '0' }, log)
  })
  after(async () => {
    await service?.[Symbol.asyncDispose]()
    for (const place of disks) {
      execFileSync('umount', ['--lazy', place])
      rmSync(place, { recursive: true })
    }
  })

  clause(
    'SVC-05',
    'While the disk of an embedded database has less than 32 MiB left, writes are refused as in…',
    async () => {
      const { read, addGroup } = writerOf(service)
      assert.equal((await addGroup()).status, 201)
      const makeRoom = fill(disk, 24 * mebibyte)
      await waitUntil('it is seen', async () => !(await isReady(service)))
      for (let again = 0; again < 3; again++) await assertShownFull(service, await addGroup())
      await assertShownFull(service, await addServer(service))
      assert.equal((await read()).status, 200)
      makeRoom()
      await waitUntil('there is room again', () => isReady(service))
      assert.equal((await addServer(service)).status, 201)
      assert.equal((await addGroup()).status, 201)
      assert.deepEqual(statesIn(lines), ['full', 'ready'])
    },
  )

  clause(
    'TOK-127',
    'While the disk of an embedded database has less than 64 MiB left, no sign-in is begun: requests of…',
    async (t) => {
      const { appId } = await addApplication(service, { properties: singlePage })
      const daemon = await addApplication(service)
      const device = await addApplication(service, { properties: { isFallbackPublicClient: true } })
      const begin = (): Promise<Response> => fetch(authorizeUrl(service, appId), { redirect: 'manual' })
      const post = (path: string, form: Record<string, string>) =>
        fetch(`${service.origin}/common/oauth2/v2.0/${path}`, {
          method: 'POST',
          body: new URLSearchParams(form),
        })
      const askForToken = () =>
        post('token', {
          grant_type: 'client_credentials',
          scope: '.default',
          client_id: daemon.appId,
          client_secret: daemon.secret,
        })
      const countState = async () =>
        (await service.database.sql<{ count: number }[]>`select count(*)::int as count from oidc_state`)[0]
          ?.count
      assert.equal((await begin()).status, 303)
      const logged = lines.length
      const makeRoom = fill(disk, 56 * mebibyte)
      t.after(makeRoom)
      await waitUntil('it is seen', async () => (await begin()).status === 507)
      const stored = await countState()
      const page = await begin()
      assert.match(await page.text(), /disk .* is full.*temporarily_unavailable/)
      assert.ok(Number(page.headers.get('retry-after')) > 0)
      assert.equal((await post('devicecode', { client_id: device.appId, scope: 'openid' })).status, 507)
      const out = await fetch(`${service.origin}/common/oauth2/v2.0/logout`)
      assert.equal(out.status, 507, await out.text())
      assert.equal(await countState(), stored)
      assert.equal((await askForToken()).status, 200)
      assert.equal((await writerOf(service).addGroup()).status, 201)
      const refusals = lines
        .slice(logged)
        .filter(({ level, msg }) => level >= 40 && /sign-ins are begun|unexpected/.test(msg))
      assert.equal(refusals.length, 1, JSON.stringify(refusals))
      makeRoom()
      await waitUntil('there is room again', async () => (await begin()).status === 303)
    },
  )

  clause(
    'TOK-127',
    'While the disk of an embedded database has less than 64 MiB left, no sign-in is begun: requests of…',
    async () => {
      const { sql } = service.database
      await sql`
        insert into oidc_state (model, id, payload, expires_at)
        select 'Interaction', 'expired ' || n, jsonb_build_object('sealed', string_agg(md5(n || ' ' || m), '')),
          now() - interval '1 hour'
        from generate_series(1, 2000) as n, generate_series(1, 200) as m group by n`
      const sizeOf = async () =>
        Number((await sql`select pg_total_relation_size('oidc_state') as size`)[0]?.size ?? 0)
      const size = await sizeOf()
      const makeRoom = fill(disk, 24 * mebibyte)
      try {
        await waitUntil('it is seen', async () => !(await isReady(service)))
        await purgeState(sql)
        assert.equal((await sql`select from oidc_state where id like 'expired %'`).length, 0)
        assert.ok((await sizeOf()) < size / 2, `${size} bytes before, ${await sizeOf()} after`)
      } finally {
        makeRoom()
      }
      await waitUntil('there is room again', () => isReady(service))
    },
  )

  clause(
    'SVC-04',
    "A write for which the disk of the service's database has no room is 507 `InsufficientStorage` in…",
    async () => {
      const small = mountDisk(64)
      await using outside = await startOutside(service, small)
      const { read, addGroup, addMessage } = writerOf(outside.service)
      assert.equal((await addMessage()).status, 201)
      const makeRoom = fill(small, 0)
      await assertShownFull(outside.service, await addMessage())
      assert.equal((await read()).status, 200)
      for (let again = 0; again < 3; again++) assert.equal((await addMessage()).status, 507)
      assert.deepEqual(statesIn(outside.lines), ['full'])
      makeRoom()
      await waitUntil('there is room again', () => isReady(outside.service))
      assert.equal((await addMessage()).status, 201)
      assert.equal((await addGroup()).status, 201)
      assert.deepEqual(statesIn(outside.lines), ['full', 'ready'])
    },
  )
})

function authorizeUrl({ origin }: TestService, appId: string): string {
  const parameters = {
    client_id: appId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  }
  return `${origin}/common/oauth2/v2.0/authorize?${new URLSearchParams(parameters)}`
}

const addServer = (service: TestService) =>
  service.request(
    'PUT',
    '/subscriptions/s/resourceGroups/g/providers/Vendor.Sql/servers/x?api-version=2014-04-01',
    {
      token: service.tokenFor({ role: 'Owner' }),
      body: {},
    },
  )

/** A service whose database is of an outside server, on a disk that holds nothing but this database. */
async function startOutside(near: TestService, disk: string) {
  const { server } = near.store
  assert.ok(server)
  const folder = join(disk, 'space')
  mkdirSync(folder, { mode: 0o700 })
  const { uid, gid } = statSync(`/proc/${server.pid}`)
  chownSync(folder, uid, gid)
  const { sql, close } = openDatabase({ url: server.url, poolSize: 1 })
  await sql.unsafe(`create tablespace small location '${folder}'`)
  await sql.unsafe('create database small tablespace small')
  const { lines, log } = recordLog()
  const MASQUERADE_DATABASE_URL = server.url.replace(/[^/]*$/, 'small')
  const service = await startTestService({ MASQUERADE_DATABASE_URL }, log)
  return {
    service,
    lines,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      await sql.unsafe('drop database small with (force)')
      await sql.unsafe('drop tablespace small')
      await close()
    },
  }
}

/** False, or why no disk can be filled here. */
function mountsNothing(): false | string {
  const place = mkdtempSync(join(tmpdir(), 'masquerade-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place], { stdio: 'ignore' })
    execFileSync('umount', [place])
    return false
  } catch {
    return 'this user may not mount file systems, so no disk can be filled'
  } finally {
    rmSync(place, { recursive: true })
  }
}

describe('the state of the database of the service', () => {
  clause(
    'SVC-06',
    "Each change of the state of the service's database is one line in the log: an outage, with all…",
    async () => {
      await using prepared = await createTestDatabase()
      let network = await openNetwork(prepared.url)
      const { host, port } = network.address
      const url = Object.assign(new URL(prepared.url), { host: `${host}:${port}` }).href
      const { lines, log } = recordLog()
      await using service = await startTestService(
        { MASQUERADE_DATABASE_URL: url, MASQUERADE_AUDIT_SECONDS: '1' },
        log,
      )
      const { read } = writerOf(service)
      const askForToken = () =>
        service.request('POST', '/organizations/oauth2/v2.0/token', {
          body: `grant_type=client_credentials&client_id=${randomUUID()}&client_secret=b`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        })
      assert.equal((await read()).status, 200)
      const before = lines.length
      network.close()
      await waitUntil('the outage is seen', async () => !(await isReady(service)))
      for (let again = 0; again < 20; again++) {
        assert.equal((await read()).status, 503)
        const refused = await askForToken()
        assert.equal(refused.status, 503, refused.text)
        assert.equal(refused.body.error, 'temporarily_unavailable')
      }
      const metrics = await service.request('GET', '/metrics')
      assert.match(metrics.text, /masquerade_store_state\{state="unreachable"\} 1/)
      const said = lines.slice(before).filter(({ level }) => level >= 40)
      assert.deepEqual(
        said.map(({ msg, store }) => ({ msg, store })),
        [{ msg: 'the database of the service is not ready', store: 'unreachable' }],
      )
      network = await openNetwork(prepared.url, port)
      await waitUntil('the end of the outage is seen', () => isReady(service))
      assert.equal((await read()).status, 200)
      assert.deepEqual(statesIn(lines), ['unreachable', 'ready'])
      network.close()
    },
  )

  clause(
    'SVC-07',
    'The screen of a start shows no password, and only commands that work as they stand: none of…',
    async (t) => {
      await using prepared = await createTestDatabase()
      const dataDir = mkdtempSync(join(tmpdir(), 'masquerade screen-'))
      t.after(() => rmSync(dataDir, { recursive: true, force: true }))
      // Left behind by an embedded database: its sample is not in this one.
      writeFileSync(join(dataDir, 'shop.json'), JSON.stringify({ analyst: 'left-behind', auditor: 'x' }))
      const started = startCommand(['serve'], {
        MASQUERADE_DATA_DIR: dataDir,
        MASQUERADE_DATABASE_URL: prepared.url,
        MASQUERADE_HTTP_PORT: '0',
        MASQUERADE_HTTPS_PORT: '0',
        MASQUERADE_GATEWAY_PORT: '0',
      })
      const screen = await started.waitFor(/Ctrl\+C/)
      try {
        assert.doesNotMatch(screen, /left-behind|psql --as|customers/)
        const { password } = new URL(prepared.url)
        assert.ok(password.length > 5)
        assert.equal(screen.includes(password), false)
        assert.match(screen, /in a shell with MASQUERADE_DATABASE_URL set as here/)
        const ca = /certificate to trust: (.*)\)/.exec(screen)?.[1] ?? ''
        for (const line of [...listPrinted(screen), ca]) {
          const { ok, text } = await runPrinted(line, { MASQUERADE_DATABASE_URL: prepared.url })
          assert.ok(ok, `${line}\n${text}`)
          assert.match(text, /verifiedDomains|BEGIN CERTIFICATE/)
        }
      } finally {
        started.child.kill('SIGTERM')
        await started.ended
      }
    },
  )
})
