import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import type { DirectoryPorts } from '../../../src/directory/operation.ts'
import { directoryRoom } from '../../../src/directory/room.ts'
import { type RawAnswer, rawSender } from '../../support/raw-request.ts'
import { startTestService, type TestService } from '../../support/service.ts'

// The list of operations is the API: what is added to it is swept as well.
const { operations } = directoryRoom({} as DirectoryPorts)

const keys = [randomUUID(), "o'x@y.z", 'a%00b', '%ff', 'x'.repeat(1500), '__proto__', '%F0%9F%98%80']
const bodies = [
  '',
  '[]',
  '{}',
  '{"a":"\\u0000"}',
  '{"@odata.id":{}}',
  '{"displayName":{"toString":1},"id":[]}',
  '{"constructor":{"prototype":{"x":1}}}',
  `{"a":${'['.repeat(60)}${']'.repeat(60)}}`,
]
const queries = [
  '$top=1&$select=id',
  '$filter=%00',
  '$orderby=%27',
  '$expand=%ff',
  '$skiptoken=%00',
  '__proto__=1',
]

describe('every operation stands hostile keys, bodies and options', () => {
  let service: TestService
  let sender: ReturnType<typeof rawSender>
  let token: string

  before(async () => {
    service = await startTestService()
    sender = rawSender(service.origin)
    token = service.tokenFor({ permissions: Object.keys(knownPermissions) })
    await service.tokens.settled()
  })
  after(async () => {
    sender?.close()
    await service?.[Symbol.asyncDispose]()
  })

  const send = (method: string, path: string, body?: string) =>
    sender.send(
      method,
      `/v1.0${path}`,
      {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
        }),
      },
      body,
    )

  function check({ status, text }: RawAnswer, what: string): void {
    assert.ok(status >= 200 && status < 500, `${what}: ${status} ${text.slice(0, 300)}`)
    if (status < 400) return
    const { error } = JSON.parse(text)
    assert.ok(typeof error.code === 'string' && error.message.length < 3000, what)
    assert.ok(error.innerError['request-id'], what)
  }

  for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
    test(`${method}`, async () => {
      const requests = operations
        .filter((operation) => operation.method === method)
        .flatMap(({ paths: [path = ''] }, at) => {
          const filled = (key = '') => path.replaceAll(/:\w+/g, key)
          const fixed = filled(keys[0])
          return [
            ...keys.slice(1).map((key) => [filled(key), method === 'GET' ? undefined : '{}'] as const),
            ...(method === 'GET'
              ? queries.map((query) => [`${fixed}?${query}`, undefined] as const)
              : bodies.filter((_, n) => n % 2 === at % 2).map((body) => [fixed, body] as const)),
          ]
        })
      assert.ok(requests.length > 100)
      while (requests.length > 0)
        await Promise.all(
          requests.splice(0, 16).map(async ([path, body]) => {
            check(await send(method, path, body), `${method} ${path.slice(0, 100)} ${body?.slice(0, 40)}`)
          }),
        )
      assert.equal((await service.request('GET', '/readyz')).status, 200)
    })
})
