import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pino from 'pino'
import { isPassword } from '../../../src/directory/accounts/password.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'
import { type Service, startService } from '../../../src/main.ts'
import { readSettings } from '../../../src/settings.ts'
import { runCommand } from '../../support/command.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { runHere } from '../../support/run-here.ts'

describe('the first start', () => {
  let database: TestDatabase
  let directories: string[]
  let nodes: Service[]
  let environment: NodeJS.ProcessEnv

  before(async () => {
    database = await createTestDatabase()
    const make = () => mkdtemp(join(tmpdir(), 'masquerade-test-'))
    directories = [await make(), await make(), await make()]
    const keyFile = join(directories[0] ?? '', 'shared.key')
    await writeFile(keyFile, Buffer.alloc(32, 9))
    environment = {
      MASQUERADE_DATABASE_URL: database.url,
      MASQUERADE_HTTP_PORT: '0',
      MASQUERADE_HTTPS_PORT: '0',
      MASQUERADE_GATEWAY_PORT: '0',
      MASQUERADE_GATEWAY_WORKERS: '1',
      MASQUERADE_PUBLIC_URL: 'https://masquerade.example',
      MASQUERADE_SECRET_KEY_FILE: keyFile,
    }
    nodes = await Promise.all(directories.slice(0, 2).map((dataDir) => start(dataDir)))
  })
  after(async () => {
    await Promise.all(nodes.map((node) => node.stop()))
    await database[Symbol.asyncDispose]()
    await Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true })))
  })

  const start = (dataDir: string, changes: NodeJS.ProcessEnv = {}) =>
    startService({
      settings: readSettings({ ...environment, MASQUERADE_DATA_DIR: dataDir, ...changes }),
      log: pino({ level: 'silent' }),
    })
  const get = async (path: string, token: string, node = nodes[0]) => {
    const answer = await fetch(`http://127.0.0.1:${node?.listeners.httpPort}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    return { status: answer.status, body: (await answer.json()) as { displayName?: string } }
  }
  const policy =
    '/subscriptions/s/resourceGroups/g/providers/Vendor.Sql/servers/v/databases/d/dataMaskingPolicies/Default?api-version=2014-04-01'

  /** The directory of the node that came first. */
  async function findSecrets(): Promise<string> {
    const found = []
    for (const directory of directories)
      if (await stat(join(directory, 'administrator-password')).catch(() => null)) found.push(directory)
    assert.equal(found.length, 1, 'one node of several wrote the secrets')
    return found[0] ?? ''
  }

  test('two nodes that start together make one administrator and one application', async () => {
    const directory = await findSecrets()
    for (const name of ['administrator-password', 'administrator-application.json'])
      assert.equal((await stat(join(directory, name))).mode & 0o777, 0o600)
    const [row] = await database.database.sql<{ hash: string; name: string }[]>`
      select hash, user_principal_name as name from user_password
      join directory_object account on account.id = user_id`
    assert.equal(row?.name, 'admin@masquerade.local')
    const password = (await readFile(join(directory, 'administrator-password'), 'utf8')).trim()
    assert.ok(await isPassword(row?.hash, password))
  })

  test('the application gets tokens, good for both APIs and on every node', async () => {
    const text = await readFile(join(await findSecrets(), 'administrator-application.json'), 'utf8')
    const { tenantId, clientId, clientSecret } = JSON.parse(text)
    const port = nodes[0]?.listeners.httpPort
    const answer = await fetch(`http://127.0.0.1:${port}/${tenantId}/oauth2/v2.0/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        scope: 'https://graph.microsoft.com/.default',
      }),
    })
    const { access_token: token } = (await answer.json()) as { access_token: string }
    for (const node of nodes)
      for (const path of ['/v1.0/organization', policy])
        assert.equal((await get(path, token, node)).status, 200)
  })

  const around = () =>
    ({ ...environment, MASQUERADE_DATA_DIR: directories[0] ?? '' }) as Record<string, string>
  const run = async (...args: string[]) => runHere(args, { environment: around() })

  test('masquerade token prints a token and nothing else', async () => {
    const admin = await runCommand(['token', '--admin'], around())
    assert.equal(admin.code, 0, admin.stderr)
    assert.match(admin.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    assert.equal(admin.stderr, '')
    for (const path of ['/v1.0/organization', policy])
      assert.equal((await get(path, admin.stdout.trim())).status, 200)

    const user = await run(
      'token',
      '--user',
      'ADMIN@masquerade.local',
      '--permission',
      'User.Read',
      '--lifetime',
      '10m',
    )
    assert.equal((await get('/v1.0/me', user.stdout.trim())).body.displayName, 'Administrator')
    assert.equal((await get('/v1.0/users', user.stdout.trim())).status, 403)
    const claims = JSON.parse(atob(user.stdout.split('.')[1] ?? ''))
    assert.equal(claims.exp - claims.iat, 600)

    const application = await run(
      'token',
      '--application',
      '--permission',
      'Group.Read.All',
      '--permission',
      'User.Read.All',
    )
    assert.equal((await get('/v1.0/groups', application.stdout.trim())).status, 200)
    assert.equal((await get('/v1.0/devices', application.stdout.trim())).status, 403)

    const personal = await run('token', '--personal', '--permission', 'User.Read.All')
    assert.equal((await get('/v1.0/users', personal.stdout.trim())).status, 403)

    const audits = await database.database.sql`select from audit_event where action = 'issueOperatorToken'`
    assert.equal(audits.count, 4)
  })

  test('masquerade token says in one line what is wrong', async () => {
    const cases: [string[], NodeJS.ProcessEnv, number, RegExp][] = [
      [[], {}, 2, /--admin, --application, --user and --personal/],
      [['--admin', '--application'], {}, 2, /one of/],
      [['--application'], {}, 2, /at least one --permission/],
      [['--application', '--permission', 'Do.Everything'], {}, 2, /no permission 'Do.Everything'/],
      [['--admin', '--lifetime', '25h'], {}, 2, /up to 24h/],
      [['--user', 'nobody@example.com', '--permission', 'User.Read'], {}, 1, /no user 'nobody@example.com'/],
      [['--admin'], { MASQUERADE_SECRET_KEY_FILE: '/nonexistent/key' }, 1, /cannot be read \(ENOENT\)/],
      [['--admin'], { MASQUERADE_SECRET_KEY_FILE: '' }, 1, /secret\.key cannot be read/],
      [['--admin'], { MASQUERADE_DATABASE_URL: '' }, 1, /There is no service in/],
      [['--admin'], { MASQUERADE_DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' }, 1, /cannot be used/],
    ]
    for (const [args, changes, code, message] of cases) {
      const merged = { ...environment, MASQUERADE_DATA_DIR: directories[2] ?? '', ...changes }
      const answer = await runHere(['token', ...args], { environment: merged as Record<string, string> })
      assert.equal(answer.code, code, `${args}: ${answer.stderr}`)
      assert.match(answer.stderr, message)
      assert.equal(answer.stderr.trim().split('\n').length, 1)
      assert.equal(answer.stdout, '')
    }
  })

  test('masquerade keys rotates while both nodes go on', async () => {
    const before = (await run('token', '--admin')).stdout.trim()
    const rotated = await run('keys', 'rotate', '--now')
    assert.equal(rotated.code, 0, rotated.stderr)
    assert.match(rotated.stdout, /verifies until .*\n.*signs now\n$/)
    const after = (await run('token', '--admin')).stdout.trim()
    assert.notEqual(before.split('.')[0], after.split('.')[0])
    for (const node of nodes)
      for (const token of [before, after]) {
        const deadline = Date.now() + 15_000
        while ((await get('/v1.0/organization', token, node)).status !== 200) assert.ok(Date.now() < deadline)
      }
    assert.equal((await run('keys', 'list')).stdout.trim().split('\n').length, 2)
    assert.equal((await run('keys', 'dance')).code, 2)
  })

  test('a node with another secret key is refused, and says why', async () => {
    await assert.rejects(
      start(directories[2] ?? '', { MASQUERADE_SECRET_KEY_FILE: '' }),
      (error) => error instanceof OperatorError && error.message.includes('MASQUERADE_SECRET_KEY_FILE'),
    )
  })

  test('an administrator that somebody deleted does not come back', async () => {
    const admin = (await run('token', '--admin')).stdout.trim()
    await database.database.sql`
      update directory_object set deleted_at = now() where user_principal_name = 'admin@masquerade.local'`
    const third = await start(directories[2] ?? '')
    nodes.push(third)
    assert.equal(third.administrator, undefined)
    assert.equal((await get('/v1.0/organization', admin, third)).status, 401)
    const refused = await run('token', '--admin')
    assert.match(refused.stderr, /was deleted/)
  })
})
