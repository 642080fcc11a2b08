import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import { clause } from '../../support/clause.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { listPrinted, runPrinted } from '../../support/printed-commands.ts'
import { waitUntil } from '../../support/wait-until.ts'

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

  test('starts, says where it listens, refuses a second one, and finishes the request under way at SIGTERM', async () => {
    const service = await start()
    assert.match(service.screen, /is ready/)
    assert.equal((await fetch(`${service.origin}/readyz`)).status, 200)

    const status = await runCommand(['status', '--json'], environment)
    assert.equal(status.code, 0)
    assert.equal(JSON.parse(status.stdout).state, 'ready')

    const second = await runCommand(['serve'], environment)
    assert.equal(second.code, 1)
    assert.match(second.stderr, new RegExp(`another Masquerade \\(pid ${service.child.pid}\\)`))

    const token = (await runCommand(['token', '--admin'], environment)).stdout.trim()
    const group = { displayName: 'Slow', mailNickname: 'slow', mailEnabled: false, securityEnabled: true }
    const slow = request(`${service.origin}/v1.0/groups`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        expect: '100-continue',
      },
    })
    slow.flushHeaders()
    await once(slow, 'continue')
    const answered = once(slow, 'response') as Promise<[{ statusCode: number }]>
    const body = JSON.stringify(group)
    slow.write(body.slice(0, 10))
    service.child.kill('SIGTERM')
    await refusesConnections(service.origin)
    slow.end(body.slice(10))
    const [{ statusCode }] = await answered
    assert.equal(statusCode, 201)
    const { code, stderr } = await service.ended
    assert.equal(code, 0)
    for (const line of stderr.trim().split('\n')) assert.ok(JSON.parse(line).msg, 'the log is JSON lines')
    assert.equal((await runCommand(['status'], environment)).code, 3)
  })

  test('brings sample data on a first start that asks for it, masked for the analyst and for those who are not exempt', async () => {
    const sampled = { ...environment, MASQUERADE_DATA_DIR: join(directory, 'sampled'), MASQUERADE_DEMO: '1' }
    const service = startCommand(['serve'], sampled)
    const screen = await service.waitFor(/Ctrl\+C/)
    const access = JSON.parse(await readFile(join(directory, 'sampled', 'shop.json'), 'utf8'))
    for (const secret of [access.analyst, access.auditor])
      assert.equal(screen.includes(secret), false, screen)
    const gateway = /postgresql:\/\/([\w.:]+)/.exec(screen)?.[1]
    const seen = async (role: string) => {
      const url = `postgresql://${role}:${access[role]}@${gateway}/shop`
      const database = openDatabase({ url, searchPath: 'masked_public,public', poolSize: 1 })
      const [row] = await database.sql`select email from customers where id = 1`
      await database.close()
      return row?.email
    }
    assert.match(await seen('analyst'), /^\wXXX@XXXX\.com$/)
    const printed = listPrinted(screen)
    const expected = [/verifiedDomains/, /\wXXX@XXXX\.com/, /\S+@example\.com/]
    assert.equal(printed.length, expected.length, screen)
    for (const [at, pattern] of expected.entries()) {
      const { ok, text } = await runPrinted(printed[at] ?? '')
      assert.ok(ok, text)
      assert.match(text, pattern)
    }
    await assert.rejects(seen('nobody'))
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })

  clause(
    'SVC-101',
    'In the sample shop of a first start the administrator is exempt: the first look at the portal shows raw values beside…',
    async () => {
      const sampled = { ...environment, MASQUERADE_DATA_DIR: join(directory, 'sampled') }
      const service = startCommand(['serve'], sampled)
      const origin = /http:\/\/[\w.:]+/.exec(await service.waitFor(/Ctrl\+C/))?.[0] ?? ''
      const token = (await runCommand(['token', '--admin'], sampled)).stdout.trim()
      const send = async (method: string, path: string, body: object) => {
        const response = await fetch(`${origin}${path}?api-version=2014-04-01`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        assert.ok(response.ok, `${method} ${path}: ${response.status}`)
        return (await response.json()) as { rows: { raw?: string[]; values: string[] }[] }
      }
      const shop =
        '/subscriptions/demo/resourceGroups/demo/providers/Vendor.Sql/servers/embedded/databases/shop'
      const wanted = { schemaName: 'public', tableName: 'customers', top: 1 }
      const [row] = (await send('POST', `${shop}/dataMaskingPolicies/Default/preview`, wanted)).rows
      assert.ok(
        row?.raw?.some((value) => value?.endsWith('@example.com')),
        'raw values',
      )
      assert.ok(
        row?.values.some((value) => /^\wXXX@XXXX\.com$/.test(value)),
        'masked values',
      )
      service.child.kill('SIGTERM')
      assert.equal((await service.ended).code, 0)
    },
  )

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

async function refusesConnections(origin: string): Promise<void> {
  await waitUntil('connections are refused', () =>
    fetch(`${origin}/healthz`, { headers: { connection: 'close' } }).then(
      () => false,
      () => true,
    ),
  )
}
