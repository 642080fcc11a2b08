import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runCommand, startCommand } from '../../support/command.ts'

describe('the life of a service on its embedded database', () => {
  let directory: string
  let environment: Record<string, string>
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'masquerade life ü '))
    environment = {
      MASQUERADE_DATA_DIR: join(directory, 'data'),
      MASQUERADE_HTTP_PORT: '0',
      MASQUERADE_HTTPS_PORT: '0',
      MASQUERADE_GATEWAY_PORT: '0',
    }
  })
  after(() => rm(directory, { recursive: true, force: true }))

  const start = async () => {
    const service = startCommand(['serve'], environment)
    const screen = await service.waitFor(/Ctrl\+C/)
    const origin = /http:\/\/[\w.:]+/.exec(screen)?.[0] ?? ''
    return { ...service, screen, origin }
  }

  test('starts, says where it listens, refuses a second one, and stops on SIGTERM', async () => {
    const service = await start()
    assert.match(service.screen, /is ready/)
    assert.equal((await fetch(`${service.origin}/readyz`)).status, 200)

    const status = await runCommand(['status', '--json'], environment)
    assert.equal(status.code, 0)
    assert.equal(JSON.parse(status.stdout).state, 'ready')

    const second = await runCommand(['serve'], environment)
    assert.equal(second.code, 1)
    assert.match(second.stderr, new RegExp(`another Masquerade \\(pid ${service.child.pid}\\)`))

    service.child.kill('SIGTERM')
    const { code, stderr } = await service.ended
    assert.equal(code, 0)
    for (const line of stderr.trim().split('\n')) assert.ok(JSON.parse(line).msg, 'the log is JSON lines')
    assert.equal((await runCommand(['status'], environment)).code, 3)
  })

  test('comes back after kill -9, on the server that was left running', async () => {
    const killed = await start()
    killed.child.kill('SIGKILL')
    await killed.ended
    const next = await start()
    assert.equal((await fetch(`${next.origin}/readyz`)).status, 200)
    next.child.kill('SIGINT')
    assert.equal((await next.ended).code, 0)
  })
})
