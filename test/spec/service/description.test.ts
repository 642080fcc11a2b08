import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { clause } from '../../support/clause.ts'
import { checkDescribed } from '../../support/described-answers.ts'
import { startTestService, type TestService } from '../../support/service.ts'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly example?: string
  readonly schema: { readonly default?: string; readonly type: string }
}

describe('the description of the API', () => {
  let service: TestService
  before(async () => {
    service = await startTestService()
  })
  after(() => service[Symbol.asyncDispose]())

  clause(
    'SVC-17',
    '`/openapi.json` describes every operation of both APIs in OpenAPI 3.1, from the tables that the operations go by…',
    async () => {
      const { body, headers } = await service.request('GET', '/openapi.json')
      assert.match(headers.get('content-type') ?? '', /^application\/json/)
      assert.equal(body.openapi, '3.1.0')
      assert.equal(body.info.title, 'Masquerade')
      assert.deepEqual(body.servers[0].url, service.origin)
      const { authorizationCode } = body.components.securitySchemes.delegated.flows
      assert.equal(
        authorizationCode.authorizationUrl,
        `${service.origin}/organizations/oauth2/v2.0/authorize`,
      )
      assert.ok(authorizationCode.scopes['User.Read.All'])
      const operations = Object.values(body.paths).flatMap((path) => Object.values(path as object))
      assert.ok(operations.length > 800)

      const { newUser, newGroup, user, newRule } = body.components.schemas
      assert.deepEqual(newUser.required.toSorted(), [
        'accountEnabled',
        'displayName',
        'mailNickname',
        'passwordProfile',
        'userPrincipalName',
      ])
      assert.ok(newGroup.properties['members@odata.bind'])
      assert.equal(newGroup.properties.mail, undefined, 'the service sets it')
      assert.deepEqual(user.properties.jobTitle.type, ['string', 'null'])
      assert.equal(user.properties.id.type, 'string')
      assert.deepEqual(user.properties.passwordProfile, { type: 'null' }, 'its value is never shown')
      assert.ok(newRule.properties.properties.required.includes('maskingFunction'))
      const named = Object.values<Parameter>(body.components.parameters)
      const typesOf = (name: string) =>
        new Set(named.filter((one) => one.name === name).map(({ schema }) => schema.type))
      assert.deepEqual([...typesOf('$top'), ...typesOf('$count')], ['integer', 'boolean'])
      const count = body.paths['/v1.0/users/$count'].get.responses['200'].content
      assert.deepEqual(Object.keys(count), ['text/plain'])
    },
  )

  clause(
    'SVC-18',
    'Every answer of both APIs has a status, a content type and a shape that `/openapi.json` gives for its operation…',
    async () => {
      // Each answer that a test gets by `request` is held against the description: here those of every read.
      const { body } = await service.request('GET', '/openapi.json')
      const token = service.tokenFor({ role: 'Owner', permissions: Object.keys(knownPermissions) })
      const asked = { found: 0, refused: 0 }
      for (const [path, { get }] of Object.entries<{ get?: { parameters: { $ref: string }[] } }>(
        body.paths,
      )) {
        if (!get) continue
        const parameters = get.parameters.map(
          ({ $ref }): Parameter => body.components.parameters[$ref.split('/').at(-1) ?? ''],
        )
        const url = path.replaceAll(/\{(\w+)\}/g, (_whole, name) => {
          const { example = '' } = parameters.find((one) => one.name === name) ?? {}
          return example.includes('-4000-') ? randomUUID() : example
        })
        const version = parameters.find(({ name }) => name === 'api-version')?.schema.default
        const { status } = await service.request('GET', version ? `${url}?api-version=${version}` : url, {
          token,
        })
        if (status === 200) asked.found++
        else asked.refused++
      }
      assert.ok(asked.found > 50 && asked.refused > 100, JSON.stringify(asked))
    },
  )

  test('an answer that the description does not have is noticed', () => {
    const headers = new Headers({ 'content-type': 'application/json' })
    const see = (status: number, answer: object) =>
      checkDescribed('GET', "/v1.0/users('a')", { status, headers, text: JSON.stringify(answer) })
    see(200, { id: randomUUID(), displayName: null })
    assert.throws(() => see(200, { id: null }), /must be string/)
    assert.throws(() => see(200, { unheard: 1 }), /additional properties/)
    assert.throws(() => see(409, {}), /no such status/)
    assert.throws(() => see(404, { error: { code: 'Nonsense', message: '' } }), /not as described/)
  })

  clause(
    'SVC-41',
    '`/openapi.json` is compressed for eight addresses at most: strangers who name others get it as it is, …',
    async (t) => {
      const read = (host: string) =>
        new Promise<{ encoding: string | undefined; text: string }>((resolve, reject) => {
          const sent = request(`${service.origin}/openapi.json`, {
            headers: { host, 'accept-encoding': 'gzip' },
          })
          sent.on('response', async (answer) => {
            const chunks: Buffer[] = []
            for await (const chunk of answer) chunks.push(chunk)
            const encoding = answer.headers['content-encoding']
            const bytes = Buffer.concat(chunks)
            resolve({ encoding, text: String(encoding === 'gzip' ? gunzipSync(bytes) : bytes) })
          })
          sent.on('error', reject).end()
        })
      const hosts = Array.from({ length: 10 }, (_, at) => `reader-${at}.example`)
      const answers: Awaited<ReturnType<typeof read>>[] = []
      for (const host of hosts) answers.push(await read(host))
      const compressed = answers.filter(({ encoding }) => encoding === 'gzip')
      assert.ok(compressed.length > 0 && compressed.length <= 8, String(compressed.length))
      for (const [at, { text }] of answers.entries()) {
        assert.equal(JSON.parse(text).servers[0].url, `http://${hosts[at]}`)
        assert.equal(text.includes('any-origin.invalid'), false)
      }
      assert.deepEqual(
        await Promise.all([hosts[0], hosts[9]].map(async (host = '') => (await read(host)).encoding)),
        ['gzip', undefined],
        'a known address keeps its form',
      )
      const now = Date.now()
      t.mock.method(Date, 'now', () => now + 10_001)
      assert.deepEqual(
        [(await read(hosts[9] ?? '')).encoding, (await read(hosts[8] ?? '')).encoding],
        ['gzip', undefined],
        'one address gives way, and the next not at once',
      )
      assert.equal((await read(hosts[0] ?? '')).encoding, 'gzip', 'an address that is in use stays')
    },
  )
})
