import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('the pages outside the two APIs', () => {
  let service: TestService
  before(async () => {
    service = await startTestService()
  })
  after(() => service[Symbol.asyncDispose]())

  test('/healthz says that the process lives', async () => {
    const { status, body } = await service.request('GET', '/healthz')
    assert.equal(status, 200)
    assert.deepEqual(body, { status: 'ok' })
  })

  test('/readyz says that everything is ready', async () => {
    const { status, body } = await service.request('GET', '/readyz')
    assert.equal(status, 200)
    assert.deepEqual(body, { status: 'ready' })
  })

  test('/metrics counts requests by operation', async () => {
    await service.request('GET', '/healthz')
    const { text } = await service.request('GET', '/metrics')
    assert.match(text, /masquerade_http_requests_total\{operation="page",method="GET",status="200"\} [1-9]/)
  })

  test('/docs is a page without scripts', async () => {
    const { headers, text } = await service.request('GET', '/docs')
    assert.match(headers.get('content-type') ?? '', /text\/html/)
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.ok(!text.includes('<script'))
  })

  test('an unknown path is answered in the shape of the API it would belong to', async () => {
    const masking = await service.request('GET', '/subscriptions/x/nothing')
    assert.equal(masking.status, 404)
    assert.equal(masking.body.error.code, 'ResourceNotFound')
    assert.ok(masking.headers.get('x-ms-request-id'))

    const directory = await service.request('GET', '/v1.0/nothing', {
      headers: { 'client-request-id': 'abc' },
    })
    assert.equal(directory.status, 400)
    assert.equal(directory.body.error.code, 'BadRequest')
    assert.equal(directory.body.error.message, "Resource not found for the segment 'nothing'.")
    assert.equal(directory.body.error.innerError['client-request-id'], 'abc')
    assert.match(directory.body.error.innerError.date, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/)
    assert.equal(directory.headers.get('client-request-id'), 'abc')
    assert.equal(directory.headers.get('odata-version'), '4.0')
  })

  test('/readyz recovers by itself when the connections to the database are cut', async () => {
    await service.database.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`
    await waitUntil('ready again', async () => {
      const { status, body } = await service.request('GET', '/readyz')
      if (status !== 200) assert.equal(body.notReady[0].name, 'database')
      return status === 200
    })
  })
})
