import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runCommand, startCommand } from '../../support/command.ts'

describe('kill -9 of the service during writes', () => {
  let directory: string
  let environment: Record<string, string>
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'masquerade-kill-'))
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
    return { ...service, origin: /http:\/\/[\w.:]+/.exec(screen)?.[0] ?? '' }
  }

  const authorize = async () => {
    const token = (await runCommand(['token', '--admin'], environment)).stdout.trim()
    return { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  }

  test('loses nothing that was acknowledged', async () => {
    const killed = await start()
    const headers = await authorize()
    const acknowledged: string[] = []
    let alive = true
    const write = async (worker: number) => {
      for (let count = 0; alive; count++) {
        const name = `g${worker}-${count}`
        const group = { displayName: name, mailNickname: name, mailEnabled: false, securityEnabled: true }
        const body = JSON.stringify(group)
        const answer = await fetch(`${killed.origin}/v1.0/groups`, { method: 'POST', headers, body }).catch(
          () => null,
        )
        if (!answer) return
        const { id } = (await answer.json().catch(() => ({}))) as { id?: string }
        if (answer.status === 201 && id) acknowledged.push(id)
        if (acknowledged.length === 60) killed.child.kill('SIGKILL')
      }
    }
    const workers = [0, 1, 2, 3].map(write)
    await killed.ended
    alive = false
    await Promise.all(workers)
    assert.ok(acknowledged.length >= 60, `${acknowledged.length} writes were acknowledged`)

    const next = await start()
    // Tokens are issued in the name of the address, and the port is another one now.
    const again = await authorize()
    for (const id of acknowledged) {
      const { status } = await fetch(`${next.origin}/v1.0/groups/${id}`, { headers: again })
      assert.equal(status, 200, `the group ${id} was acknowledged and is gone`)
    }
    next.child.kill('SIGTERM')
    assert.equal((await next.ended).code, 0)
  })
})
