import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import pino from 'pino'
import { restoreInto } from '../../../src/cli/backup/restore-into.ts'
import { restoreMarker } from '../../../src/db/data-directory.ts'
import { migrate, readMigrations } from '../../../src/db/migrate.ts'
import { lockDirectory } from '../../../src/db/server/lock.ts'
import { type Service, startService } from '../../../src/main.ts'
import { readSettings } from '../../../src/settings.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { createEmptyDatabase, type TestDatabase } from '../../support/postgres.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { createTokens } from '../../support/tokens.ts'
import { waitUntil } from '../../support/wait-until.ts'

const gateway = useGateway()
let folder = ''
let file = ''
let keyFile = ''
let recipient = ''
let old: Record<string, string> = {}
/** Groups that were acknowledged before the backup began, with their member. */
const acknowledged: { group: string; member: string }[] = []
const token = () =>
  gateway.masking.service().tokenFor({ permissions: ['Directory.ReadWrite.All', 'User.ReadWrite.All'] })

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'masquerade-backup-'))
  file = join(folder, 'night.backup')
  keyFile = join(folder, 'identity')
  const identity = await generateX25519Identity()
  recipient = await identityToRecipient(identity)
  await writeFile(keyFile, `# an identity of age\n${identity}\n`)
  old = await settleIn(gateway.masking.service())
})
after(() => rm(folder, { recursive: true, force: true }))

/** A group with one member, stored in one transaction. */
async function writeGroup(member: string) {
  const service = gateway.masking.service()
  const name = `g${randomUUID().slice(0, 8)}`
  const created = await service.request('POST', '/v1.0/groups', {
    token: token(),
    body: {
      displayName: name,
      mailNickname: name,
      mailEnabled: false,
      securityEnabled: true,
      'members@odata.bind': [`${service.origin}/v1.0/directoryObjects/${member}`],
    },
  })
  assert.equal(created.status, 201, created.text)
  return { group: created.body.id as string, member }
}

clause(
  'SVC-60',
  '`masquerade backup FILE` writes the store as of one moment, the secret key, certificates and settings to one encrypted file…',
  async () => {
    const service = gateway.masking.service()
    const member = service.tokens.shared.user
    for (let count = 0; count < 5; count++) acknowledged.push(await writeGroup(member))
    let isDone = false
    const writing = (async () => {
      const written = []
      while (!isDone) written.push(await writeGroup(member))
      return written
    })()
    const made = await runHere(['backup', file, '--recipient', recipient, '--json'], {
      environment: { ...old, MASQUERADE_TENANT_DOMAIN: 'contoso.example' },
    })
    isDone = true
    assert.ok((await writing).length > 0)
    assert.equal(made.code, 0, made.stderr)
    const { rows, bytes } = JSON.parse(made.stdout)
    assert.ok(rows.directory_object > 5 && rows.member_edge >= 5)
    assert.equal('node' in rows, false)
    assert.equal(bytes, statSync(file).size)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.equal((await readFile(file)).subarray(0, 21).toString(), 'age-encryption.org/v1')
    const again = await runHere(['backup', file, '--recipient', recipient], { environment: old })
    assert.equal(again.code, 1)
    assert.match(again.stderr, /exists already/)
  },
)

clause(
  'SVC-64',
  'The passphrase of a backup comes from a file, the environment, a question on the terminal or the standard input…',
  async () => {
    const locked = join(folder, 'locked.backup')
    const short = await runHere(['backup', locked], { environment: old, input: 'short\n' })
    assert.equal(short.code, 1)
    assert.match(short.stderr, /at least 12 characters/)
    const none = await runHere(['backup', locked], { environment: old })
    assert.equal(none.code, 2)
    assert.equal(
      (await runHere(['backup', locked, '--passphrase', 'in the open'], { environment: old })).code,
      2,
    )
    const made = await runHere(['backup', locked], { environment: old, input: 'a long passphrase\nmore\n' })
    assert.equal(made.code, 0, made.stderr)
    const words = join(folder, 'passphrase')
    await writeFile(words, 'a long passphrase\n')
    const good = await runHere(['restore', locked, '--check', '--passphrase-file', words], {
      environment: old,
    })
    assert.equal(good.code, 0, good.stderr)
    assert.match(good.stdout, /is good/)
    const wrong = await runHere(['restore', locked, '--check'], {
      environment: { ...old, MASQUERADE_BACKUP_PASSPHRASE: 'another passphrase' },
    })
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /the passphrase is another/)
  },
)

/** An empty place to restore into. */
async function emptyPlace(): Promise<{
  test: TestDatabase
  environment: Record<string, string>
  dataDir: string
}> {
  const test = await createEmptyDatabase()
  const dataDir = join(folder, randomUUID())
  return { test, dataDir, environment: { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: test.url } }
}

clause(
  'SVC-62',
  'A backup that was cut short or changed, or that the passphrase or key does not open, is refused before anything is changed…',
  async () => {
    const { test, environment, dataDir } = await emptyPlace()
    await using _test = test
    const whole = await readFile(file)
    const middle = whole.length >> 1
    const changed = Buffer.from(whole)
    changed[middle] = (changed[middle] ?? 0) ^ 1
    const other = join(folder, 'other-identity')
    await writeFile(other, await generateX25519Identity())
    const attempts: [Buffer, string, RegExp][] = [
      [whole.subarray(0, whole.length - 1), keyFile, /cut short or changed/],
      [whole.subarray(0, 100), keyFile, /cannot be opened/],
      [changed, keyFile, /cut short or changed/],
      [Buffer.concat([whole, Buffer.from('x')]), keyFile, /cut short or changed/],
      [whole, other, /no identity fits/],
    ]
    for (const [content, key, message] of attempts) {
      const damaged = join(folder, 'damaged')
      await writeFile(damaged, content)
      const refused = await runHere(['restore', damaged, '--identity-file', key], { environment })
      assert.equal(refused.code, 1, refused.stdout)
      assert.match(refused.stderr, message)
    }
    assert.equal(existsSync(dataDir), false)
    assert.deepEqual(
      [...(await test.database.sql`select 1 from pg_namespace where nspname = 'masquerade'`)],
      [],
    )
  },
)

clause(
  'SVC-61',
  '`masquerade restore FILE` restores into an empty data directory and an empty database, and into no other…',
  async () => {
    const busy = await emptyPlace()
    await using _busy = busy.test
    const args = ['restore', file, '--identity-file', keyFile]
    await mkdir(busy.dataDir)
    await writeFile(join(busy.dataDir, 'notes'), 'mine')
    const filled = await runHere(args, { environment: busy.environment })
    assert.match(filled.stderr, /is not empty \(notes\)/)
    await rm(join(busy.dataDir, 'notes'))
    await migrate(busy.test.database)
    const stored = await runHere(args, { environment: busy.environment })
    assert.equal(stored.code, 1)
    assert.match(stored.stderr, /has a store already/)
    assert.deepEqual(await readdir(busy.dataDir), [])
    await writeFile(join(busy.dataDir, restoreMarker), '')
    const half = await runHere(['migrate'], { environment: busy.environment })
    assert.match(half.stderr, /did not finish/)

    const migrations = readMigrations()
    for (const [count, refusal] of [
      [migrations.length - 1, null],
      [migrations.length, /newer than this version/],
    ] as const) {
      const source = await emptyPlace()
      await using _source = source.test
      await migrate(source.test.database, migrations.slice(0, count))
      if (refusal)
        await source.test.database.sql`insert into masquerade_migration values (${count + 1}, 'later', 'x')`
      await mkdir(source.dataDir)
      await writeFile(join(source.dataDir, 'secret.key'), Buffer.alloc(32, 7))
      const aged = join(folder, `aged-${count}`)
      const made = await runHere(['backup', aged, '--recipient', recipient], {
        environment: source.environment,
      })
      assert.equal(made.code, 0, made.stderr)
      const place = await emptyPlace()
      await using _place = place.test
      const restored = await runHere(['restore', aged, '--identity-file', keyFile], {
        environment: place.environment,
      })
      if (refusal) {
        assert.match(restored.stderr, refusal)
        assert.equal(existsSync(place.dataDir), false)
        continue
      }
      assert.equal(restored.code, 0, restored.stderr)
      const [row] = await place.test.database.sql`select max(number) as newest from masquerade_migration`
      assert.equal(row?.newest, migrations.length)
    }
  },
)

clause(
  'SVC-78',
  'After a restore no credential for tools logs in: one that was revoked after the backup would be good again. A restore…',
  async () => {
    const { database, tenantId, tokens } = gateway.masking.service()
    await database.sql`
      insert into database_credential (tenant_id, principal_id, name, verifier, expires_at)
      values (${tenantId}, ${tokens.shared.user}, 'tool', 'SCRAM-SHA-256$…', now() + interval '1 day')`
    const leaked = join(folder, 'leaked.backup')
    const made = await runHere(['backup', leaked, '--recipient', recipient], { environment: old })
    assert.equal(made.code, 0, made.stderr)
    const { test, environment } = await emptyPlace()
    await using _test = test
    const restored = await runHere(['restore', leaked, '--identity-file', keyFile], { environment })
    assert.equal(restored.code, 0, restored.stderr)
    const [row] = await test.database.sql`select count(*)::int as count from masquerade.database_credential`
    assert.equal(row?.count, 0)

    const running = join(folder, randomUUID())
    await mkdir(running)
    const settings = readSettings({ MASQUERADE_DATA_DIR: running })
    const walk = () => Promise.reject(new Error('nothing is read'))
    const lock = lockDirectory(running)
    try {
      for (const [name, refusal] of [
        ['secret.key', /is not empty/],
        [restoreMarker, /is using this data directory/],
      ] as const) {
        await writeFile(join(running, name), 'of the service')
        await assert.rejects(
          restoreInto(settings, [], walk, () => {}),
          refusal,
        )
        assert.ok(existsSync(join(running, 'secret.key')))
      }
    } finally {
      lock.release()
    }
  },
)

clause(
  'SVC-63',
  'After a restore every object, rule, role assignment, key and audit entry of the backup is there, and masks are intact…',
  async () => {
    const service = gateway.masking.service()
    const { sql } = service.database
    const kids = service.auth.signingKeys.list().map(({ kid }) => kid)
    const stale = service.tokenFor({ principal: service.tokens.shared.user, permissions: ['User.Read.All'] })
    const audits = (await sql`select id, action, target from audit_event order by id`).map((row) => ({
      ...row,
    }))
    await service.stop()
    const { test, environment, dataDir } = await emptyPlace()
    await using _test = test
    const restored = await runHere(['restore', file, '--identity-file', keyFile], { environment })
    assert.equal(restored.code, 0, restored.stderr)
    assert.match(
      await readFile(join(dataDir, 'settings.env'), 'utf8'),
      /^MASQUERADE_TENANT_DOMAIN=contoso\.example$/m,
    )
    for (const name of ['secret.key', 'tls/ca.pem', 'tls/ca-key.pem', 'administrator-password'])
      assert.deepEqual(await readFile(join(dataDir, name)), await readFile(join(service.dataDir, name)), name)

    await using next = await startRestored(environment)
    const { database, auth } = next
    for (const kid of kids) assert.ok(auth.signingKeys.find(kid), kid)
    const here = await createTokens(next)
    const origin = `http://127.0.0.1:${next.listeners.httpPort}`
    const get = async (path: string, bearer = here.tokenFor({ permissions: ['Directory.Read.All'] })) => {
      await here.settled()
      return fetch(origin + path, { headers: { authorization: `Bearer ${bearer}` } })
    }
    for (const { group, member } of acknowledged) {
      const members = (await (await get(`/v1.0/groups/${group}/members`)).json()) as {
        value: { id: string }[]
      }
      assert.deepEqual(
        members.value.map(({ id }) => id),
        [member],
      )
    }
    const [halves] = await database.sql`
      select count(*)::int as count from directory_object g where g.kind = 'group' and g.display_name ~ '^g[0-9a-f]{8}$'
        and not exists (select from member_edge e where e.container_id = g.id)`
    assert.equal(halves?.count, 0, 'a group without its member is of two moments')
    assert.equal((await get('/v1.0/users', stale)).status, 401)
    const [counts] = await database.sql`
      select (select count(*)::int from role_assignment) as assignments, (select count(*)::int from masking_rule) as rules`
    assert.ok(counts && counts.assignments > 0 && counts.rules === 2)
    const kept = new Map(
      (await database.sql`select id, action, target from audit_event`).map((row) => [row.id, { ...row }]),
    )
    const [end] = await database.sql`select max(id) as id from audit_event where action = 'restore'`
    for (const entry of audits.filter(({ id }) => id < end?.id && kept.has(id)))
      assert.deepEqual(kept.get(entry.id), entry)
    assert.ok(kept.size > 5)
    const [change] = await database.sql`select kind from change_log order by revision desc limit 1`
    assert.ok(change)
    const analyst = gateway.masked().connectAs('analyst')
    const [row] = await analyst.sql`select email from masked_public.customers limit 1`
    assert.match(row?.email, /XXX@XXXX\.com$/)
    await assert.rejects(
      analyst.sql`select email from public.customers`.then(() => {}),
      /permission|denied/i,
    )
  },
)

async function startRestored(environment: Record<string, string>, ports: Record<string, string> = {}) {
  const settings = readSettings({
    MASQUERADE_HTTP_PORT: '0',
    MASQUERADE_HTTPS_PORT: '0',
    MASQUERADE_GATEWAY_PORT: '0',
    MASQUERADE_GATEWAY_WORKERS: '1',
    MASQUERADE_RATE_LIMIT: '0',
    ...environment,
    ...ports,
  })
  const service: Service = await startService({ settings, log: pino({ level: 'silent' }) })
  return { ...service, [Symbol.asyncDispose]: () => service.stop() }
}

clause(
  'SVC-65',
  'The gateway of a restored service opens when every bound database has been checked; until then `/readyz` is 503…',
  async () => {
    const { test, environment } = await emptyPlace()
    await using _test = test
    const restored = await runHere(['restore', file, '--identity-file', keyFile], { environment })
    assert.equal(restored.code, 0, restored.stderr)
    const sockets: Socket[] = []
    const silent = createServer((socket) => sockets.push(socket.on('error', () => {})))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { port: number }
    await test.database.sql`
      update masked_database set binding = jsonb_set(binding, '{port}', to_jsonb(${port}::int)) where binding is not null`
    const [httpPort, gatewayPort] = [await freePort(), await freePort()]
    const starting = startRestored(environment, {
      MASQUERADE_HTTP_PORT: String(httpPort),
      MASQUERADE_GATEWAY_PORT: String(gatewayPort),
      MASQUERADE_GATEWAY_WORKERS: '1',
    })
    const ready = () => fetch(`http://127.0.0.1:${httpPort}/readyz`).catch(() => null)
    const body = await waitUntil('the service waits', async () => {
      const answer = await ready()
      return answer?.status === 503 && sockets.length > 0 ? ((await answer.json()) as NotReady) : null
    })
    assert.ok(body)
    assert.deepEqual(
      body.notReady.map(({ name }) => name),
      ['service', 'enforcement'],
    )
    assert.match(body.notReady[1]?.reason ?? '', /have not been checked since the restore/)
    assert.equal(await listens(gatewayPort), false)
    silent.close()
    for (const socket of sockets) socket.destroy()
    await using _service = await starting
    assert.equal((await ready())?.status, 200)
    assert.equal(await listens(gatewayPort), true)
  },
)

type NotReady = { readonly notReady: readonly { readonly name: string; readonly reason: string }[] }

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function listens(port: number): Promise<boolean> {
  const { connect } = await import('node:net')
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

clause(
  'SVC-66',
  'A backup of a service with an outside database can be restored into an embedded one, and a service that does not run can be backed up.',
  async () => {
    const environment = { MASQUERADE_DATA_DIR: join(folder, 'embedded') }
    const restored = await runHere(['restore', file, '--identity-file', keyFile], { environment })
    assert.equal(restored.code, 0, restored.stderr)
    const again = join(folder, 'again.backup')
    const made = await runHere(['backup', again, '--recipient', recipient, '--json'], { environment })
    assert.equal(made.code, 0, made.stderr)
    const checked = await runHere(['restore', again, '--check', '--identity-file', keyFile, '--json'], {
      environment,
    })
    const { rows } = JSON.parse(checked.stdout)
    assert.deepEqual(rows, JSON.parse(made.stdout).rows)
  },
)
