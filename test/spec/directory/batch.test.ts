import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { after, before, describe } from 'node:test'
import {
  BatchRequestContent,
  BatchResponseContent,
  Client,
  HTTPMessageHandler,
} from '@microsoft/microsoft-graph-client'
import { caller, everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { startTestService, type TestService } from '../../support/service.ts'

interface Answer {
  readonly id: string
  readonly status: number
  readonly headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body?: any
}

describe('batches', () => {
  let service: TestService
  let token: string

  before(async () => {
    service = await startTestService()
    token = service.tokenFor({ kind: 'application', permissions: everything })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )
  const json = { 'Content-Type': 'application/json' }
  const get = (id: string, url: string, more: object = {}) => ({ id, method: 'GET', url, ...more })
  const post = (id: string, url: string, body: unknown, more: object = {}) => ({
    id,
    method: 'POST',
    url,
    headers: json,
    body,
    ...more,
  })
  const newGroup = (mailNickname: string = randomUUID()) => ({
    displayName: 'Batched',
    mailNickname,
    mailEnabled: false,
    securityEnabled: true,
  })
  async function batch(requests: unknown, headers: Record<string, string> = {}): Promise<Answer[]> {
    return (await call('POST', '/$batch', 200, { requests }, headers)).body.responses
  }
  const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status)

  clause('DIR-141', '`$batch` runs up to 20 requests in one.', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => get(`${at}`, '/groups?$top=1'))
    assert.deepEqual(statuses(await batch(many(20))), Array(20).fill(200))
    assert.equal((await call('POST', '/$batch', 400, { requests: many(21) })).body.error.code, 'BadRequest')
  })

  clause(
    'DIR-250',
    '`POST /$batch` takes `requests`, 1 to 20 objects with `id`, `method`, `url` and, where needed, `headers`, `body` and `dependsOn`. …',
    async () => {
      const group = newGroup()
      const answers = await batch([
        post('make', '/groups', group),
        get('list', `/groups?$filter=mailNickname eq '${group.mailNickname}'`, { dependsOn: ['make'] }),
        get('none', `/groups/${randomUUID()}`),
        { id: 'drop', method: 'delete', url: `groups/${randomUUID()}`, headers: null, dependsOn: null },
      ])
      assert.deepEqual(
        answers.map(({ id, status }) => [id, status]),
        [
          ['make', 201],
          ['list', 200],
          ['none', 404],
          ['drop', 404],
        ],
      )
      const [made, list, none] = answers
      assert.equal(made?.headers['Content-Type']?.split(';')[0], 'application/json')
      assert.match(made?.headers.Location ?? '', new RegExp(`^${service.origin}/v1.0/groups/`))
      assert.deepEqual(
        list?.body.value.map(({ id }: { id: string }) => id),
        [made?.body.id],
      )
      assert.equal(none?.body.error.code, 'Request_ResourceNotFound')
      const removed = await batch([{ id: '1', method: 'DELETE', url: `/groups/${made?.body.id}` }])
      assert.deepEqual([statuses(removed), 'body' in (removed[0] ?? {})], [[204], false])
    },
  )

  clause(
    'DIR-251',
    'A request of a batch is handled as if the client had sent it by itself with the token of the batch: …',
    async () => {
      const weak = service.tokenFor({ kind: 'application', permissions: ['Group.Read.All'] })
      const sent = [post('write', '/groups', newGroup()), get('read', '/groups?$top=1'), get('me', '/me')]
      const answer = await service.request('POST', '/v1.0/$batch', { token: weak, body: { requests: sent } })
      assert.deepEqual(statuses(answer.body.responses), [403, 200, 400])
      const outside = await service.request('POST', '/v1.0/$batch', { body: { requests: sent } })
      assert.deepEqual([outside.status, outside.body.error.message], [401, 'Access token is empty.'])

      const answers = await batch([post('a', '/groups', newGroup()), post('b', '/groups', newGroup())], {
        'client-request-id': 'the-client-s-own',
      })
      const ids = answers.map(({ headers }) => headers['request-id'] ?? '')
      assert.equal(new Set(ids).size, 2)
      assert.ok(answers.every(({ headers }) => headers['client-request-id'] === 'the-client-s-own'))
      const audits = await service.database.sql<{ target: string; request_id: string }[]>`
        select target, request_id from audit_event where request_id = any(${ids})`
      assert.deepEqual(
        audits.map(({ target, request_id }) => [target, request_id]).toSorted(),
        answers.map(({ body, headers }) => [`/groups/${body.id}`, headers['request-id']]).toSorted(),
      )
      const secure = request(`${service.httpsOrigin}/v1.0/$batch`, {
        method: 'POST',
        ca: service.listeners.ca,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      })
      secure.end(JSON.stringify({ requests: [get('1', '/groups?$top=1')] }))
      const [received] = (await once(secure, 'response')) as [IncomingMessage]
      const text = (await received.toArray()).join('')
      const [page] = JSON.parse(text).responses
      assert.ok(page.body['@odata.nextLink'].startsWith(`${service.httpsOrigin}/v1.0/groups?`))

      const [large] = await batch([get('1', `/groups/${'x'.repeat(3000)}`)])
      assert.equal(large?.status, 400)
    },
  )

  clause(
    'DIR-252',
    'The `url` of a request in a batch is relative, with or without `/v1.0`, or an absolute one of this API. …',
    async () => {
      const good = [
        '/groups',
        'groups',
        '/v1.0/groups',
        'v1.0/groups',
        '/V1.0/groups?$top=1',
        `${service.origin}/v1.0/groups`,
        '/groups/$count',
      ]
      assert.deepEqual(
        statuses(await batch(good.map((url, at) => get(`${at}`, url)))),
        Array(good.length).fill(200),
      )
      const bad = [
        `https://other.example/v1.0/groups`,
        `${service.origin}/healthz`,
        '//127.0.0.1/v1.0/groups',
        '/\\evil/v1.0',
        '/../metrics',
        '/v1.0/../metrics',
        '/v1.0/%2e%2e/healthz',
        '/healthz',
        '/users/../../subscriptions/x/resourceGroups/y',
        'javascript:alert(1)',
      ]
      assert.deepEqual(
        statuses(await batch(bad.map((url, at) => get(`${at}`, url)))),
        Array(bad.length).fill(400),
      )

      const inner = { requests: [get('1', '/groups?$top=1')] }
      const nests = ['/$batch', '/v1.0/$batch', '/%24batch', '/$BATCH/', '/users/../$batch']
      const nested = await batch(nests.map((url, at) => post(`${at}`, url, inner)))
      assert.deepEqual(statuses(nested), Array(nests.length).fill(400))
      assert.match(nested[0]?.body.error.message, /inside another batch/)

      const own = { headers: { Authorization: `Bearer ${token}` } }
      const other = { headers: { authorization: `Bearer ${service.tokenFor({ permissions: everything })}` } }
      assert.deepEqual(
        statuses(await batch([get('1', '/groups', own), get('2', '/groups', other)])),
        [200, 400],
      )
    },
  )

  clause(
    'DIR-253',
    'A request runs after the requests that its `dependsOn` names, and is answered 424 `FailedDependency` when one …',
    async () => {
      const name = randomUUID()
      const find = `/groups?$filter=mailNickname eq '${name}'&$select=id`
      const answers = await batch([
        get('last', find, { dependsOn: ['made', 'bad-too'] }),
        get('found', find, { dependsOn: ['made'] }),
        post('made', '/groups', newGroup(name)),
        get('bad', `/groups/${randomUUID()}`),
        post('never', '/groups', newGroup(name), { dependsOn: ['bad', 'made'] }),
        get('bad-too', find, { depends_on: ['never'] }),
      ])
      assert.deepEqual(statuses(answers), [424, 200, 201, 404, 424, 424])
      assert.equal(answers[1]?.body.value.length, 1)
      assert.equal(answers[4]?.body.error.code, 'FailedDependency')
      assert.equal((await call('GET', find, 200)).body.value.length, 1)
    },
  )

  clause(
    'DIR-254',
    'A batch with more than 20 requests or none, an id given twice, a `dependsOn` that names no request of the batch …',
    async () => {
      const name = randomUUID()
      const make = post('1', '/groups', newGroup(name))
      const wrong = [
        [],
        [make, { ...make }],
        [{ ...make, dependsOn: ['2'] }],
        [{ ...make, dependsOn: ['1'] }],
        [make, get('2', '/groups', { dependsOn: ['3'] }), get('3', '/groups', { dependsOn: ['2'] })],
        [{ ...make, atomicityGroup: 'g' }],
        [make, { id: '2', method: 'GET' }],
        [make, { id: 2, method: 'GET', url: '/groups' }],
        [make, get('', '/groups')],
      ]
      for (const requests of wrong) await call('POST', '/$batch', 400, { requests })
      await call('POST', '/$batch', 400, { requests: [get('1', '/groups')], more: true })
      await call('POST', '/$batch', 400, {})
      const { body } = await call('GET', `/groups?$filter=mailNickname eq '${name}'`, 200)
      assert.deepEqual(body.value, [])
    },
  )

  clause(
    'DIR-255',
    'In a batch, the body of a request or answer of a JSON type is the JSON value itself, and one of a text type …',
    async () => {
      const encoded = Buffer.from(JSON.stringify(newGroup())).toString('base64')
      const answers = await batch([
        post('1', '/groups', encoded),
        post('2', '/groups', 'not base64!'),
        post('3', '/groups', JSON.stringify(newGroup()), { headers: { 'content-type': 'text/plain' } }),
        post('4', '/groups', newGroup(), { headers: {} }),
        get('5', '/groups/$count'),
        { id: '6', method: 'TRACE', url: '/groups' },
      ])
      assert.deepEqual(statuses(answers), [201, 400, 400, 400, 200, 400])
      assert.match(answers[4]?.body, /^\d+$/)
      assert.equal(answers[4]?.headers['Content-Type'], 'text/plain')
    },
  )

  clause(
    'DIR-250',
    '`POST /$batch` takes `requests`, 1 to 20 objects with `id`, `method`, `url` and, where …',
    async () => {
      const http = new HTTPMessageHandler()
      const client = Client.initWithMiddleware({
        baseUrl: `${service.origin}/`,
        middleware: {
          execute: async (context) => {
            context.options = {
              ...context.options,
              headers: { ...context.options?.headers, authorization: `Bearer ${token}` },
            }
            await http.execute(context)
          },
        },
      })
      const at = (path: string, init?: RequestInit) => new Request(`https://graph.example.com${path}`, init)
      const content = new BatchRequestContent([
        {
          id: '1',
          request: at('/v1.0/groups', { method: 'POST', headers: json, body: JSON.stringify(newGroup()) }),
        },
        { id: '2', request: at('/groups?$top=2') },
        { id: '3', request: at('/groups/$count') },
      ])
      content.addDependency('2', '1')
      content.addDependency('3', '2')
      const answer = new BatchResponseContent(await client.api('/$batch').post(await content.getContent()))
      const made = answer.getResponseById('1')
      assert.deepEqual(
        [made.status, ((await made.json()) as { displayName: string }).displayName],
        [201, 'Batched'],
      )
      assert.equal(((await answer.getResponseById('2').json()) as { value: unknown[] }).value.length, 2)
      assert.match(await answer.getResponseById('3').text(), /^\d+$/)
    },
  )
})
