import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startTestService } from '../../support/service.ts'

test('no operation answers a stranger, whatever its path or method', async () => {
  await using service = await startTestService()
  const { body } = await service.request('GET', '/openapi.json')
  const paths = Object.entries(body.paths as Record<string, Record<string, unknown>>)
  const asked: string[] = []
  for (const [path, methods] of paths)
    for (const method of Object.keys(methods).filter((name) => /^(get|put|post|patch|delete)$/.test(name))) {
      const url = path.replaceAll('{cast}', 'vendor.graph.user').replaceAll(/\{\w+\}/g, () => randomUUID())
      // A body that is not even JSON: nothing of it is looked at.
      const sent = method === 'get' ? {} : { body: '{' }
      for (const token of [undefined, 'not-a-token']) {
        const answer = await service.request(method.toUpperCase(), url, { ...sent, ...(token && { token }) })
        assert.equal(answer.status, 401, `${method} ${path}: ${answer.text}`)
        assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/)
      }
      asked.push(`${method} ${path}`)
    }
  assert.ok(asked.some((one) => one.startsWith('delete /v1.0/')))
  assert.ok(asked.some((one) => one.startsWith('put /subscriptions/')))
})
