import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { renderSettings } from '../../../src/cli/settings-page.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('the rate limit', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ MASQUERADE_RATE_LIMIT: '2' })
  })
  after(() => service[Symbol.asyncDispose]())

  clause(
    'DIR-102',
    'A caller over the rate limit gets 429 `TooManyRequests` with `Retry-After`; the limit is per caller…',
    async () => {
      const directory = fillDirectory(service)
      const tokenOf = (principal: string) => service.tokenFor({ permissions: ['User.Read.All'], principal })
      const [token, other] = [tokenOf(await directory.user()), tokenOf(await directory.user())]
      const ask = (bearer: string) => service.request('GET', '/v1.0/users?$top=1', { token: bearer })
      const answers = await Promise.all(Array.from({ length: 40 }, () => ask(token)))
      const refused = answers.filter(({ status }) => status === 429)
      assert.ok(refused.length > 0)
      assert.ok(answers.some(({ status }) => status === 200))
      for (const { headers, body } of refused) {
        assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/)
        assert.equal(body.error.code, 'TooManyRequests')
      }
      assert.equal((await ask(other)).status, 200)

      const requests = Array.from({ length: 20 }, (_, at) => ({
        id: `${at}`,
        method: 'GET',
        url: '/users?$top=1',
      }))
      const third = tokenOf(await directory.user())
      const batch = await service.request('POST', '/v1.0/$batch', { token: third, body: { requests } })
      const limited = batch.body.responses.filter(({ status }: { status: number }) => status === 429)
      assert.ok(limited.length >= 10)
      assert.match(limited[0].headers['Retry-After'], /^[1-9]\d*$/)
      assert.match(renderSettings(), /MASQUERADE_RATE_LIMIT.*off on the embedded database, 100 otherwise/)
    },
  )
})
