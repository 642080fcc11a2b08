import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, mock, test } from 'node:test'
import { commandNames, loadCommand } from '../../../src/cli/commands.ts'
import { clause } from '../../support/clause.ts'
import { startCommand } from '../../support/command.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'

/** A certificate of January 2020. */
const expired = `-----BEGIN CERTIFICATE-----
MIIBNDCB26ADAgECAgEBMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMTCWxvY2FsaG9z
dDAeFw0yMDAxMDEwMDAwMDBaFw0yMDAyMDEwMDAwMDBaMBQxEjAQBgNVBAMTCWxv
Y2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMFJoOJDhv0DhK4eEZIJ
sPgFeKsYjgbrBhWJjg3CEEaSmIe06o6aSK+vuH6e9qqYX+/VNvqLLnPjmPz+czUx
zV6jHjAcMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAKBggqhkjOPQQDAgNI
ADBFAiAxLYe2gc5vZTnoMRgRmdVMVdgyG+G81DwhP6u5FJ4FFQIhAKek7ZqWsxTb
KUyvVn2a0484iLdNaRZGoEvHy3WvOoct
-----END CERTIFICATE-----
`

describe('the command line in a shell', () => {
  let service: TestService
  let environment: Record<string, string>
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'masquerade-shell-'))
    service = await startTestService()
    environment = await settleIn(service)
  })
  after(async () => {
    await service[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })
  const here = (...args: string[]) => runHere(args, { environment })

  clause(
    'SVC-13',
    'A command whose reader goes away, as in `| head`, finishes what it began and prints no error.',
    async () => {
      const args = ['group', 'add', 'Made without a reader', '--url', service.origin, '--admin']
      for (const words of [args, ['help', '--json']]) {
        const { child, ended } = startCommand(words, environment)
        child.stdout?.destroy()
        const { code, stderr } = await ended
        assert.deepEqual([code, stderr], [0, ''], words.join(' '))
      }
      const rows = await service.database.sql`
        select from directory_object where display_name = 'Made without a reader'`
      assert.equal(rows.length, 1)
    },
  )

  clause(
    'SVC-12',
    'Every command but `psql` takes `--json`; its result is then the only thing on standard output. …',
    async () => {
      for (const name of commandNames) {
        const command = await loadCommand(name)
        const takesJson = Object.hasOwn(command?.options ?? {}, 'json')
        assert.equal(takesJson, name !== 'psql', name)
      }
      const access = ['--url', service.origin, '--admin', '--json']
      const db = 'sub-1/group-1/srv/db1'
      const rule = ['mail', '-d', db, '--column', 'public.person.email', '--function', 'Email']
      for (const args of [
        ['version', '--json'],
        ['help', '--json'],
        ['completion', 'bash', '--json'],
        ['token', '--admin', '--json'],
        ['keys', 'list', '--json'],
        ['application', 'list', '--json'],
        ['migrate', '--json'],
        ['logout', '--json'],
        ['rules', 'set', ...rule, ...access],
        ['rules', 'list', '-d', db, ...access],
        ['policy', 'show', '-d', db, ...access],
        ['policy', 'exempt', '-d', db, 'auditor', ...access],
        ['policy', 'disable', '-d', db, ...access],
        ['rules', 'export', '-d', db, ...access],
        ['rules', 'delete', 'mail', '-d', db, ...access],
        ['mapping', 'list', '-d', db, ...access],
        ['database', 'list', 'sub-1/group-1/srv', ...access],
        ['database', 'unbind', db, ...access],
      ]) {
        const { code, stdout, stderr } = await here(...args)
        assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
        assert.doesNotThrow(() => JSON.parse(stdout), args.join(' '))
      }
      const codes: [number, string[]][] = [
        [2, ['rules', 'list', ...access]],
        [3, ['rules', 'list', '-d', db, '--url', 'http://127.0.0.1:1', '--token', 'x']],
        [0, ['status', '--json']],
        [5, ['rules', 'delete', 'none', '-d', db, ...access]],
        [5, ['user', 'show', 'nobody@example.com', ...access]],
        [6, ['rules', 'list', '-d', db, '--url', service.origin, '--token', 'x']],
        [6, ['login', '--token']],
      ]
      for (const [expected, args] of codes) {
        const { code, stdout, stderr } = await here(...args)
        assert.equal(code, expected, `${args.join(' ')}: ${stdout}${stderr}`)
      }
      const overview = await here('help')
      for (const code of [0, 1, 2, 3, 4, 5, 6])
        assert.match(overview.stdout, new RegExp(`^ {2}${code} {2}\\S`, 'm'))
    },
  )

  clause(
    'SVC-16',
    '`masquerade doctor` looks at the installation, the database of the service, bound databases and the running service, in this order. …',
    async () => {
      const examine = async (around: Record<string, string> = {}) => {
        const { code, stdout, stderr } = await runHere(['doctor', '--json'], {
          environment: { ...environment, ...around },
        })
        assert.equal(stderr, '')
        const findings = JSON.parse(stdout) as {
          check: string
          state: string
          message: string
          fix?: string
        }[]
        for (const { state, fix } of findings)
          assert.equal(fix !== undefined, state === 'problem' || state === 'warning')
        return { code, findings, of: (check: string) => findings.find((one) => one.check === check) }
      }
      await rm(join(service.dataDir, 'run.json'))
      const stopped = await examine()
      assert.equal(stopped.code, 4)
      assert.deepEqual(
        stopped.findings.map(({ check }) => check),
        [
          'data directory',
          'disk',
          'secret key',
          'certificate authority',
          'certificate',
          'database of the service',
          'migrations',
          'clock',
          'signing keys',
          'administrators',
          'bound databases',
          'ports',
          'service',
          'gateway',
          'exposures',
        ],
      )
      assert.deepEqual([stopped.of('service')?.state, stopped.of('service')?.fix], ['problem', 'npm start'])

      const { port } = new URL(service.origin)
      const taken = await examine({
        MASQUERADE_HTTP_PORT: port,
        MASQUERADE_HTTPS_PORT: '0',
        MASQUERADE_GATEWAY_PORT: '0',
      })
      assert.equal(taken.of('ports')?.message, `Another program has ${port} (MASQUERADE_HTTP_PORT).`)

      await settleIn(service)
      const running = await examine()
      assert.equal(running.code, 0, JSON.stringify(running.findings))
      assert.equal(running.of('gateway')?.state, 'ok')
      assert.equal(running.of('administrators')?.state, 'warning', 'there is but one')
      const words = await here('doctor')
      assert.match(words.stdout, /^ok {7}disk: /m)
      assert.match(words.stdout, /^0 problems, \d warnings?\.$/m)

      await chmod(service.dataDir, 0o755)
      const { sql } = service.database
      await sql`update directory_object set properties = properties || '{"accountEnabled":false}' where kind = 'user'`
      const worse = await examine()
      await sql`update directory_object set properties = properties || '{"accountEnabled":true}' where kind = 'user'`
      await chmod(service.dataDir, 0o700)
      assert.equal(worse.code, 4)
      assert.match(worse.of('data directory')?.fix ?? '', /^chmod 700 /)
      assert.equal(worse.of('administrators')?.fix, 'masquerade admin restore')
      await writeFile(join(folder, 'other.key'), Buffer.alloc(32, 1))
      const sealed = await examine({ MASQUERADE_SECRET_KEY_FILE: join(folder, 'other.key') })
      assert.match(sealed.of('signing keys')?.message ?? '', /sealed with another secret key/)
      const [last = {}] = await sql`
        delete from masquerade_migration where number = (select max(number) from masquerade_migration) returning *`
      const older = await examine()
      await sql`insert into masquerade_migration ${sql(last)}`
      assert.equal(older.of('migrations')?.fix, 'masquerade migrate')
      assert.equal(older.of('signing keys')?.state, 'skipped', 'it asks for tables of this version')
      const away = await examine({ MASQUERADE_DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d' })
      assert.equal(away.of('database of the service')?.state, 'problem')
      assert.equal(away.of('clock')?.state, 'skipped')
      await writeFile(join(folder, 'expired.pem'), expired)
      const tls = {
        MASQUERADE_TLS_CERT_FILE: join(folder, 'expired.pem'),
        MASQUERADE_TLS_KEY_FILE: 'key.pem',
      }
      assert.match((await examine(tls)).of('certificate')?.message ?? '', /expired on Feb {2}1 .* 2020/)
      mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_600_000 })
      const late = await examine().finally(() => mock.timers.reset())
      assert.match(late.of('clock')?.message ?? '', /^It is 3\d{3} seconds off/)
      assert.equal(late.of('exposures')?.message, 'No token is valid while the clock is off.')
      const nowhere = await examine({ MASQUERADE_DATA_DIR: join(folder, 'nothing') })
      assert.match(nowhere.of('data directory')?.message ?? '', /There is none/)
    },
  )

  test('a wrong setting is what the doctor says first', async () => {
    const { code, stderr } = await runHere(['doctor'], {
      environment: { ...environment, MASQUERADE_PORT: '1' },
    })
    assert.equal(code, 2)
    assert.match(stderr, /MASQUERADE_PORT is not a setting/)
  })
})
