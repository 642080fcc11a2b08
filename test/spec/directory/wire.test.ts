import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { caller, everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestResponse, type TestService } from '../../support/service.ts'

const jsonType =
  'application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8'

describe('how the directory speaks HTTP', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = service.tokenFor({ kind: 'application', permissions: everything })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )
  const errorOf = (answer: TestResponse) => [answer.body.error.code, answer.body.error.message]

  clause(
    'DIR-01',
    'Every path of this API is relative to a base address that ends in the version segment `v1.0`.',
    async () => {
      await call('GET', '/users', 200)
      assert.equal((await service.request('GET', '/users', { token })).status, 404)
    },
  )

  clause(
    'DIR-75',
    'The version is the segment `v1.0` in the base address, and there is no other.',
    async () => {
      for (const version of ['beta', 'v1.1', 'v2.0', 'v1', '1.0'])
        assert.equal((await service.request('GET', `/${version}/users`, { token })).status, 404, version)
    },
  )

  clause(
    'DIR-77',
    'Every answer, errors included, has the headers `request-id`, `client-request-id` (the one that the client sent, where it sent one) and `OData-Version: 4.0`.',
    async () => {
      const id = randomUUID()
      const headers = { 'client-request-id': id }
      const answers = [
        await call('GET', '/users', 200, undefined, headers),
        await call('GET', `/users/${randomUUID()}`, 404, undefined, headers),
        await call('GET', '/nowhere', 400, undefined, headers),
        await call('PUT', '/users', 405, undefined, headers),
        await service.request('GET', '/v1.0/users', { headers }),
      ]
      for (const answer of answers) {
        assert.match(answer.headers.get('request-id') ?? '', /^[0-9a-f-]{36}$/)
        assert.equal(answer.headers.get('client-request-id'), id)
        assert.equal(answer.headers.get('odata-version'), '4.0')
      }
      const without = await call('GET', '/users', 200)
      assert.ok(without.headers.get('client-request-id'))
    },
  )

  clause(
    'DIR-78',
    'An answer with a JSON body has the content type `application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8`.',
    async () => {
      assert.equal((await call('GET', '/users', 200)).headers.get('content-type'), jsonType)
      assert.equal((await call('GET', '/nowhere', 400)).headers.get('content-type'), jsonType)
    },
  )

  clause(
    'DIR-79',
    "A key in a path is a segment or stands in OData parentheses: `/users/a@b.c/extensions/x` and `/users('a@b.c')/extensions('x')` are the same…",
    async () => {
      const id = await directory.user("o'neil")
      for (const path of [
        `/users/${id}`,
        `/users('${id}')`,
        `/users(%27${id}%27)`,
        `/users%28'${id}'%29`,
        `/users(id='${id}')`,
        `/users(id=${id})`,
        "/users(userPrincipalName='o''neil@example.com')",
        "/users('o''neil@example.com')",
        "/users/o'neil@example.com",
        `/Users('${id.toUpperCase()}')`,
        `/directoryObjects('${id}')`,
      ])
        assert.equal((await call('GET', path, 200)).body.id, id, path)
    },
  )

  clause('DIR-80', 'Where a path takes a user, it takes the id or the userPrincipalName.', async () => {
    const id = await directory.user('grace')
    for (const key of [id, 'grace@example.com', 'GRACE@Example.com', 'grace%40example.com']) {
      assert.equal((await call('GET', `/users/${key}`, 200)).body.id, id)
      await call('PATCH', `/users/${key}`, 204, { city: 'Ghent' })
    }
    await call('DELETE', '/users/grace@example.com', 204)
    await call('GET', `/users/${id}`, 404)
  })

  clause(
    'DIR-81',
    'Every write is audited: who (principal and app), when, what (before and after) and the request id. …',
    async () => {
      const created = await call('POST', '/contacts', 201, { displayName: 'Bo' })
      const target = `/contacts/${created.body.id}`
      const updated = await call('PATCH', target, 204, { displayName: 'Bea' })
      const deleted = await call('DELETE', target, 204)
      await call('PATCH', target, 404, { displayName: 'Never' })
      const rows = await service.database.sql<Record<string, unknown>[]>`
        select actor, action, before, after, request_id, at from audit_event where target = ${target} order by id`
      assert.deepEqual(
        rows.map(({ action, before, after, request_id }) => ({ action, before, after, request_id })),
        [
          { action: 'create orgContact', before: null, after: { displayName: 'Bo' } },
          { action: 'update orgContact', before: { displayName: 'Bo' }, after: { displayName: 'Bea' } },
          { action: 'delete orgContact', before: { displayName: 'Bea' }, after: null },
        ].map((row, at) => ({
          ...row,
          request_id: [created, updated, deleted][at]?.headers.get('request-id'),
        })),
      )
      const { servicePrincipal: objectId, appId: applicationId } = service.tokens.shared
      for (const { actor, at } of rows) {
        assert.deepEqual(actor, { kind: 'application', objectId, applicationId })
        assert.ok(at instanceof Date)
      }
    },
  )

  test('an audit entry never has a password', async () => {
    const password = 'a long-winded Phrase 42'
    const { body } = await call('POST', '/users', 201, {
      accountEnabled: true,
      displayName: 'Eve',
      mailNickname: 'eve',
      userPrincipalName: 'eve@example.com',
      passwordProfile: { password },
    })
    await call('PATCH', `/users/${body.id}`, 204, { passwordProfile: { password: `${password}!` } })
    const rows = await service.database.sql`
      select before, after from audit_event where target = ${`/users/${body.id}`}`
    assert.equal(rows.length, 2)
    assert.ok(!JSON.stringify(rows).includes('Phrase'))
    const read = await call('GET', `/users/${body.id}?$select=id,passwordProfile`, 200)
    assert.equal(read.body.passwordProfile, null)
  })

  clause(
    'DIR-82',
    'Every error is `{"error":{"code","message","innerError":{"date","request-id","client-request-id"}}}`, with…',
    async () => {
      for (const path of ['/nowhere', `/users/${randomUUID()}`, '/users?$top=0', '/users/x%00y']) {
        const answer = await service.request('GET', `/v1.0${path}`, { token })
        const { error, ...rest } = answer.body
        assert.deepEqual(rest, {})
        assert.equal(typeof error.code, 'string')
        assert.equal(typeof error.message, 'string')
        assert.match(error.innerError.date, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/)
        assert.equal(error.innerError['request-id'], answer.headers.get('request-id'))
        assert.equal(error.innerError['client-request-id'], answer.headers.get('client-request-id'))
        assert.doesNotMatch(answer.text, /select |directory_object|\.ts:|node_modules/)
      }
    },
  )

  clause(
    'DIR-91',
    'A body that is not JSON, or not sent as JSON, is 400 `BadRequest` with the message `Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format.`',
    async () => {
      const good = JSON.stringify({ displayName: 'Bo' })
      const cases: [string, string][] = [
        ['{', 'application/json'],
        ['{"displayName":"Bo",}', 'application/json'],
        ['displayName=Bo', 'application/x-www-form-urlencoded'],
        [good, 'text/plain'],
        [good, 'application/xml'],
        [good, 'application/json;charset=utf-16'],
      ]
      for (const [body, type] of cases) {
        const answer = await call('POST', '/contacts', 400, body, { 'content-type': type })
        assert.deepEqual(errorOf(answer), [
          'BadRequest',
          'Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format.',
        ])
      }
    },
  )

  clause(
    'DIR-92',
    'An empty body where one is needed is 400 `BadRequest` with the message `Empty Payload. JSON content expected.`',
    async () => {
      for (const body of ['', ' ', '\n'])
        assert.deepEqual(errorOf(await call('POST', '/contacts', 400, body)), [
          'BadRequest',
          'Empty Payload. JSON content expected.',
        ])
    },
  )

  clause(
    'DIR-93',
    "A malformed identifier is 400 `Request_BadRequest` with the message `Invalid object identifier 'x'.`, where x is what was sent.",
    async () => {
      for (const set of ['users', 'groups', 'contacts', 'devices', 'applications', 'directoryObjects'])
        for (const id of ['x', '123', `${randomUUID()}0`, 'appName=x'])
          assert.deepEqual(errorOf(await call('GET', `/${set}/${id}`, 400)), [
            'Request_BadRequest',
            `Invalid object identifier '${id}'.`,
          ])
    },
  )

  clause(
    'DIR-94',
    "A property that a resource does not have is 400 `Request_BadRequest` with the message `Invalid property 'x'.`, where x is its name.",
    async () => {
      const { id } = (await call('POST', '/contacts', 201, { displayName: 'Bo' })).body
      for (const name of ['nickName', 'DisplayName', 'constructor', 'members@odata.bind', '']) {
        const expected = ['Request_BadRequest', `Invalid property '${name}'.`]
        assert.deepEqual(errorOf(await call('PATCH', `/contacts/${id}`, 400, { [name]: 'x' })), expected)
        const created = await call('POST', '/contacts', 400, { displayName: 'Bo', [name]: 'x' })
        assert.deepEqual(errorOf(created), expected)
      }
    },
  )

  clause(
    'DIR-95',
    "A value that a property cannot take is 400 `Request_BadRequest` with a message such as `Invalid value specified for property 'mailNickname' of resource 'Group'.`",
    async () => {
      const group = { displayName: 'A', mailEnabled: false, securityEnabled: true }
      for (const mailNickname of ['a@b', 7, ['a'], {}, true, 'é', 'x'.repeat(65)])
        assert.deepEqual(errorOf(await call('POST', '/groups', 400, { ...group, mailNickname })), [
          'Request_BadRequest',
          "Invalid value specified for property 'mailNickname' of resource 'Group'.",
        ])
      const user = await call('PATCH', `/users/${await directory.user()}`, 400, { accountEnabled: 'yes' })
      assert.match(user.body.error.message, /property 'accountEnabled' of resource 'User'/)
    },
  )

  clause(
    'DIR-96',
    "A path that does not exist is 400 `BadRequest` with the message `Resource not found for the segment 'x'.`, where x is the first segment that leads nowhere.",
    async () => {
      for (const [path, segment] of [
        ['/nowhere', 'nowhere'],
        ['/nowhere/at/all', 'nowhere'],
        [`/users/${randomUUID()}/wings/left`, 'wings'],
        [`/contacts/${randomUUID()}/a%20b`, 'a b'],
        ['/directory', 'directory'],
      ])
        assert.deepEqual(errorOf(await call('GET', path ?? '', 400)), [
          'BadRequest',
          `Resource not found for the segment '${segment}'.`,
        ])
    },
  )

  clause(
    'DIR-97',
    'A method that a path does not know is 405 `Request_BadRequest` with the message `Specified HTTP method is not allowed for the request target.`',
    async () => {
      for (const [method, path] of [
        ['PUT', '/users'],
        ['DELETE', '/groups'],
        ['PATCH', '/directoryObjects/getByIds'],
        ['POST', `/contacts/${randomUUID()}`],
      ]) {
        const answer = await call(method ?? '', path ?? '', 405)
        assert.deepEqual(errorOf(answer), [
          'Request_BadRequest',
          'Specified HTTP method is not allowed for the request target.',
        ])
        assert.ok(answer.headers.get('allow'))
      }
    },
  )

  clause('DIR-100', 'A request body over 1 MiB is 413.', async () => {
    const body = { displayName: 'Bo', companyName: 'x'.repeat(1024 * 1024) }
    await call('POST', '/contacts', 413, body)
    const fits = { displayName: 'Bo', companyName: 'x'.repeat(1024 * 1023) }
    await call('POST', '/contacts', 400, fits)
  })

  clause(
    'DIR-76',
    'The directory API lives under `/v1.0` of the one origin that serves the whole product, over HTTP and over…',
    async () => {
      assert.notEqual(service.listeners.httpPort, service.listeners.httpsPort)
      await call('GET', '/users', 200)
      assert.equal((await service.request('GET', '/readyz')).status, 200)
      const { request } = await import('node:https')
      const status = await new Promise((resolve, reject) => {
        const asked = request(
          `${service.httpsOrigin}/v1.0/users`,
          { ca: service.listeners.ca, headers: { authorization: `Bearer ${token}` } },
          (answer) => {
            answer.resume()
            resolve(answer.statusCode)
          },
        )
        asked.on('error', reject)
        asked.end()
      })
      assert.equal(status, 200)
    },
  )
})
