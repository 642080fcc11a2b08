import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runCommand } from '../../support/command.ts'
import { runHere } from '../../support/run-here.ts'

describe('the command line', () => {
  let directory: string
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'masquerade-cli-'))
  })
  after(() => rm(directory, { recursive: true, force: true }))

  test('help lists every command, and says more about one', async () => {
    const overview = await runCommand(['help'])
    assert.equal(overview.code, 0)
    for (const name of ['serve', 'status', 'migrate', 'ca', 'version', 'help'])
      assert.match(overview.stdout, new RegExp(`^ {2}${name} `, 'm'))
    const one = await runHere(['status', '--help'])
    assert.equal(one.code, 0)
    assert.match(one.stdout, /^Usage: masquerade status/)
  })

  test('version prints the version', async () => {
    const { code, stdout } = await runCommand(['version'])
    assert.equal(code, 0)
    assert.match(stdout, /^masquerade \d+\.\d+\.\d+ \(node \d+/)
  })

  const wrong: [string, string[], Record<string, string>, number, RegExp][] = [
    ['an unknown command', ['dance'], {}, 2, /^masquerade: There is no command 'dance'/],
    ['an unknown option', ['serve', '--loud'], {}, 2, /--loud.*masquerade help serve/],
    [
      'a wrong setting',
      ['serve'],
      { MASQUERADE_HTTP_PORT: 'x' },
      2,
      /MASQUERADE_HTTP_PORT: 'x' is not allowed/,
    ],
    ['a misspelt setting', ['serve'], { MASQUERADE_PORT: '1' }, 2, /MASQUERADE_PORT is not a setting/],
    [
      'a database URL where nothing listens',
      ['serve'],
      { MASQUERADE_DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/d' },
      1,
      /u@127\.0\.0\.1:1\/d: nothing listens there/,
    ],
  ]
  for (const [what, args, environment, code, reason] of wrong)
    test(`${what}: one line with the reason, exit code ${code}`, async () => {
      const outcome = await runCommand(args, {
        MASQUERADE_DATA_DIR: join(directory, 'unused'),
        ...environment,
      })
      assert.equal(outcome.code, code)
      assert.equal(outcome.stdout, '')
      assert.match(outcome.stderr, reason)
      assert.equal(outcome.stderr.trim().split('\n').length, 1)
      assert.ok(!outcome.stderr.includes('hunter2'))
    })

  test('a data directory that is a file: one line, exit code 1', async () => {
    const file = join(directory, 'a file')
    await writeFile(file, '')
    const { code, stderr } = await runCommand(['serve'], { MASQUERADE_DATA_DIR: file })
    assert.equal(code, 1)
    assert.match(stderr, /^masquerade: .*a file.*\n$/)
  })

  test('a busy port: one line that names the setting, exit code 1, and nothing is left running', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    const { port } = await new Promise<{ port: number }>((resolve) =>
      server.once('listening', () => resolve(server.address() as { port: number })),
    )
    const { code, stderr } = await runCommand(['serve'], {
      MASQUERADE_DATA_DIR: join(directory, 'busy'),
      MASQUERADE_HTTP_PORT: String(port),
      MASQUERADE_LOG_LEVEL: 'silent',
    })
    server.close()
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`^masquerade: 127.0.0.1:${port} is in use.*MASQUERADE_HTTP_PORT.*\n$`))
  })

  test('status of a service that does not run: exit code 3', async () => {
    const { code, stdout } = await runHere(['status'], {
      environment: { MASQUERADE_DATA_DIR: join(directory, 'none') },
    })
    assert.equal(code, 3)
    assert.equal(stdout, 'Not running.\n')
  })
})
