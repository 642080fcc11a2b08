import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { clause } from '../../support/clause.ts'
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

  test('/docs is a page whose scripts are files of the service', async () => {
    for (const path of ['/docs', '/docs/signed-in']) {
      const { headers, text } = await service.request('GET', path)
      assert.match(headers.get('content-type') ?? '', /text\/html/)
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /default-src 'none'; script-src 'self';/)
      assert.match(policy, /connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/)
      assert.doesNotMatch(text, /<script(?! src="\/docs\/)/)
    }
    for (const path of ['/docs/start.js', '/docs/page.css'])
      for (const encoding of ['gzip', 'identity']) {
        const { status, headers } = await service.request('GET', path, {
          headers: { 'accept-encoding': encoding },
        })
        assert.equal(status, 200)
        assert.equal(headers.get('content-encoding'), encoding === 'gzip' ? 'gzip' : null)
      }
  })

  clause(
    'SVC-19',
    '`/` leads people (`Accept: text/html`) to the portal where there is one, and else to `/docs`.…',
    async () => {
      const response = await fetch(`${service.origin}/`, {
        headers: { accept: 'text/html,*/*' },
        redirect: 'manual',
      })
      assert.deepEqual([response.status, response.headers.get('location')], [303, '/docs'])
      for (const headers of [{}, { accept: 'application/json' }]) {
        const { status, body } = await service.request('GET', '/', { headers })
        assert.equal(status, 200)
        const { name, version, masking, directory, ...places } = body
        assert.deepEqual([masking, directory], [service.origin, `${service.origin}/v1.0`])
        for (const place of Object.values<string>(places))
          assert.equal((await service.request('GET', place)).status, 200, place)
        assert.equal(body.description, `${service.origin}/openapi.json`)
      }
    },
  )

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
