import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import pino from 'pino'
import { type Service, startService } from '../../../src/main.ts'
import { readSettings } from '../../../src/settings.ts'
import { clause } from '../../support/clause.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('two nodes over one database', () => {
  let first: TestService
  let second: Service
  before(async () => {
    first = await startTestService({ MASQUERADE_PUBLIC_URL: 'https://masquerade.example' })
    const settings = readSettings({
      MASQUERADE_DATA_DIR: first.dataDir,
      MASQUERADE_DATABASE_URL: first.databaseUrl,
      MASQUERADE_SECRET_KEY_FILE: join(first.dataDir, 'secret.key'),
      MASQUERADE_PUBLIC_URL: 'https://masquerade.example',
      MASQUERADE_HTTP_PORT: '0',
      MASQUERADE_HTTPS_PORT: '0',
      MASQUERADE_GATEWAY_PORT: '0',
      MASQUERADE_GATEWAY_WORKERS: '1',
      MASQUERADE_RATE_LIMIT: '0',
    })
    second = await startService({ settings, log: pino({ level: 'silent' }) })
  })
  after(async () => {
    await second.stop()
    await first[Symbol.asyncDispose]()
  })

  clause(
    'DIR-147',
    'A read on any node shows every write that was acknowledged before it, on whichever node.',
    async () => {
      const token = first.tokenFor({
        permissions: [
          'Group.ReadWrite.All',
          'GroupMember.ReadWrite.All',
          'User.ReadWrite.All',
          'Directory.Read.All',
        ],
      })
      const nodes = [first.origin, second.listeners.httpOrigin]
      const send = async (node: number, method: string, path: string, body?: unknown) => {
        const { status, body: answer } = await first.request(method, `${nodes[node % 2]}/v1.0${path}`, {
          token,
          ...(body !== undefined && { body }),
        })
        assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(answer)}`)
        return answer
      }
      const user = await send(0, 'POST', '/users', {
        displayName: 'Ann',
        mailNickname: 'ann',
        userPrincipalName: 'ann@masquerade.local',
        accountEnabled: true,
        passwordProfile: { password: 'a-Long-enough-passw0rd' },
      })
      const groups: string[] = []
      for (let step = 0; step < 12; step++) {
        const name = `level${step}`
        const group = { displayName: name, mailNickname: name, mailEnabled: false, securityEnabled: true }
        const { id } = await send(step, 'POST', '/groups', group)
        const member = groups.at(-1) ?? user.id
        const reference = { '@odata.id': `https://host/v1.0/directoryObjects/${member}` }
        await send(step + 1, 'POST', `/groups/${id}/members/$ref`, reference)
        groups.push(id)
        const { value } = await send(step, 'POST', `/users/${user.id}/getMemberGroups`, {
          securityEnabledOnly: true,
        })
        assert.deepEqual(value.toSorted(), groups.toSorted())
      }
    },
  )
})
