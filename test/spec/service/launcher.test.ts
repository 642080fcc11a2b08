import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../../support/command.ts'
import { hasAllVariants } from '../../support/postgres.ts'

const entry = fileURLToPath(new URL('../../../bin/masquerade.mjs', import.meta.url))

const onThisNode = [process.execPath, entry]
/** Without type stripping, this Node is to the launcher what an old one is: it has to start another. */
const onOldNode = [process.execPath, '--no-strip-types', entry]
/** As with npx, which leaves a shell in between. */
const inShell = ['sh', '-c', '"$0" "$@"; true', process.execPath, entry]

/** `ended` waits for whoever holds the standard output: the launcher, or a process that it left behind. */
function launch(command: readonly string[], environment: Record<string, string> = {}) {
  const [program = '', ...args] = command
  const inherited = Object.entries(process.env).filter(([name]) => !/^(MASQUERADE_|npm_)/.test(name))
  const child = spawn(program, args, {
    env: { ...Object.fromEntries(inherited), ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let stdout = ''
  const isReady = new Promise((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (stdout.includes('Ctrl+C')) resolve(undefined)
    })
  })
  return { child, isReady, ended: once(child, 'close').then(([code]) => ({ code, stdout })) }
}

const directory = mkdtempSync(path.join(tmpdir(), 'masquerade launch ü '))
after(() => rmSync(directory, { recursive: true, force: true }))

/** Each service goes on with the database that the last one has left in good order. */
async function serve(command: readonly string[], environment: Record<string, string> = {}) {
  const service = launch([...command, 'serve'], {
    ...environment,
    MASQUERADE_DATA_DIR: path.join(directory, 'data'),
    MASQUERADE_DEMO: '0',
    MASQUERADE_HTTP_PORT: '0',
    MASQUERADE_HTTPS_PORT: '0',
    MASQUERADE_GATEWAY_PORT: '0',
  })
  await Promise.race([
    service.isReady,
    service.ended.then(({ stdout }) => assert.fail(`not ready: ${stdout}`)),
  ])
  return {
    ...service,
    isDatabaseRunning: () => existsSync(path.join(directory, 'data', 'postgres', 'postmaster.pid')),
  }
}

for (const [name, command] of Object.entries({ 'this Node': onThisNode, 'a Node of its own': onOldNode }))
  test(`the launcher on ${name} passes on arguments, output and the exit code`, async () => {
    const version = await launch([...command, 'version']).ended
    assert.deepEqual(version, { code: 0, stdout: (await runCommand(['version'])).stdout })
    assert.equal((await launch([...command, 'no such command']).ended).code, 2)
  })

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
for (const signal of signals.slice(0, hasAllVariants ? 3 : 1))
  test(`the launcher passes ${signal} on, and the service stops in good order`, async () => {
    const service = await serve(onOldNode)
    assert.ok(service.isDatabaseRunning())
    service.child.kill(signal)
    assert.equal((await service.ended).code, 0)
    assert.ok(!service.isDatabaseRunning())
  })

const orphans = {
  'whose launcher was killed': [onOldNode, {}],
  'whose npm was killed': [inShell, { npm_lifecycle_event: 'npx' }],
} as const
for (const [what, [command, environment]] of Object.entries(orphans))
  test(`a service ${what} stops in good order`, async () => {
    const service = await serve(command, environment)
    assert.ok(service.isDatabaseRunning())
    service.child.kill('SIGKILL')
    await service.ended
    assert.ok(!service.isDatabaseRunning())
  })
