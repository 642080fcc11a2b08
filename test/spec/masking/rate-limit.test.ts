import assert from 'node:assert/strict'
import { renderSettings } from '../../../src/cli/settings-page.ts'
import { clause } from '../../support/clause.ts'
import { apiVersion, freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'

const { service } = useMasking({ MASQUERADE_RATE_LIMIT: '1' })

clause(
  'MASK-81',
  'A caller over the rate limit gets 429 with `Retry-After`; the limit is per caller, off by default on the embedded database, and on with a documented default otherwise.',
  async () => {
    const [token, other] = [service().tokenFor({ role: 'Reader' }), service().tokenFor({ role: 'Reader' })]
    await service().tokens.settled()
    const url = `${policyUrl(freshDatabase())}?${apiVersion}`
    const ask = () => service().request('GET', url, { token })
    const answers = await Promise.all(Array.from({ length: 40 }, ask))
    const refused = answers.filter(({ status }) => status === 429)
    assert.ok(refused.length > 0)
    assert.ok(answers.some(({ status }) => status === 200))
    for (const { headers, body } of refused) {
      assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/)
      assert.equal(body.error.code, 'TooManyRequests')
    }
    assert.equal((await service().request('GET', url, { token: other })).status, 200)
    assert.match(renderSettings(), /MASQUERADE_RATE_LIMIT.*off on the embedded database, 100 otherwise/)
  },
)
