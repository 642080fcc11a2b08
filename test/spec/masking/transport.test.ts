import assert from 'node:assert/strict'
import { get } from 'node:https'
import { clause } from '../../support/clause.ts'
import {
  apiVersion,
  emailRule,
  freshDatabase,
  policyUrl,
  rulesUrl,
  ruleUrl,
  useMasking,
} from '../../support/masking.ts'

const { service, send, putRule, listRules, getRule, getPolicy } = useMasking()

clause(
  'MASK-63',
  'The masking API lives under `/subscriptions/` of the one origin that serves the whole product, over HTTP and over HTTPS, each on a port of its own.',
  async () => {
    const { listeners, httpsOrigin, tokenFor, tokens } = service()
    assert.notEqual(listeners.httpPort, listeners.httpsPort)
    const url = `${policyUrl(freshDatabase())}?${apiVersion}`
    assert.equal((await send('GET', url)).status, 200)
    const authorization = `Bearer ${tokenFor({ role: 'Reader' })}`
    await tokens.settled()
    const status = await new Promise((resolve, reject) => {
      const request = get(
        `${httpsOrigin}${url}`,
        { ca: listeners.ca, headers: { authorization } },
        (answer) => {
          answer.resume()
          resolve(answer.statusCode)
        },
      )
      request.on('error', reject)
    })
    assert.equal(status, 200)
  },
)

/** One answer of each kind: success, refused, denied, unknown. */
async function answersOfAllKinds(headers: Record<string, string> = {}) {
  const db = freshDatabase()
  return [
    await send('PUT', ruleUrl(db, 'r'), { properties: emailRule }, headers),
    await send('GET', rulesUrl(db), undefined, headers),
    await send('PUT', ruleUrl(db, 'r'), { properties: {} }, headers),
    await send('GET', `${rulesUrl(db)}?`, undefined, headers),
    await send('GET', `${db}/nothing`, undefined, headers),
    await send('PATCH', rulesUrl(db), {}, headers),
    await service().request('GET', `${rulesUrl(db)}?${apiVersion}`, { headers }),
  ]
}

clause(
  'MASK-64',
  'Every answer, errors included, has a request id in `x-ms-request-id` and a correlation id in `x-ms-correlation-request-id`.',
  async () => {
    const answers = await answersOfAllKinds()
    for (const { status, headers } of answers) {
      assert.match(headers.get('x-ms-request-id') ?? '', /^[0-9a-f-]{36}$/, String(status))
      assert.match(headers.get('x-ms-correlation-request-id') ?? '', /./, String(status))
    }
    assert.equal(new Set(answers.map(({ headers }) => headers.get('x-ms-request-id'))).size, answers.length)
    for (const { headers } of await answersOfAllKinds({ 'x-ms-correlation-request-id': 'trace-7' }))
      assert.equal(headers.get('x-ms-correlation-request-id'), 'trace-7')
  },
)

clause(
  'MASK-65',
  'A request with `x-ms-return-client-request-id: true` gets its own `x-ms-client-request-id` back in the answer; without that header it is not echoed.',
  async () => {
    const id = { 'x-ms-client-request-id': 'mine-1' }
    for (const { headers } of await answersOfAllKinds({ ...id, 'x-ms-return-client-request-id': 'true' }))
      assert.equal(headers.get('x-ms-client-request-id'), 'mine-1')
    for (const { headers } of await answersOfAllKinds(id))
      assert.equal(headers.get('x-ms-client-request-id'), null)
  },
)

clause('MASK-66', 'Every answer says `Cache-Control: no-store`.', async () => {
  for (const { status, headers } of await answersOfAllKinds())
    assert.equal(headers.get('cache-control'), 'no-store', String(status))
})

clause(
  'MASK-67',
  'Fixed path segments and resource names compare without regard to case, and the answer keeps the case in which a name was first stored.',
  async () => {
    const db = freshDatabase().replace('Srv', 'SrvÄ')
    const first = (await putRule(db, 'My Rule', emailRule)).body
    const loud = db.toUpperCase()
    const quiet = db.toLowerCase()
    for (const form of [loud, quiet]) {
      assert.deepEqual((await getRule(form, 'mY rULE')).body, first)
      assert.deepEqual(await listRules(form), [first])
      assert.equal((await getPolicy(form)).body.id, policyUrl(db))
      assert.equal((await send('GET', policyUrl(form).replace(/Default$/i, 'dEFAULT'))).status, 200)
    }
    const updated = await putRule(loud, 'MY RULE', { ...emailRule, maskingFunction: 'Default' })
    assert.equal(updated.status, 200)
    assert.equal(updated.body.id, first.id)
    assert.equal((await listRules(db)).length, 1)
  },
)

clause(
  'MASK-68',
  '`providers/Microsoft.Sql` is an alias of `providers/Vendor.Sql`, and a setting lists the aliases; `id` and `type` in an answer use the namespace that the request used.',
  async () => {
    const db = freshDatabase()
    const alias = db.replace('Vendor.Sql', 'Microsoft.Sql')
    const created = (await putRule(alias, 'r', emailRule)).body
    assert.equal(created.id, ruleUrl(alias, 'r'))
    assert.equal(created.type, 'Microsoft.Sql/servers/databases/dataMaskingPolicies/rules')
    assert.equal((await getRule(db, 'r')).body.id, ruleUrl(db, 'r'))
    assert.equal((await listRules(alias.replace('Microsoft', 'MICROSOFT')))[0].id, ruleUrl(alias, 'r'))
    assert.equal(
      (await listRules(alias.replace('Microsoft.Sql', 'Microsoft%2ESql')))[0].id,
      ruleUrl(alias, 'r'),
    )
    const policy = (await getPolicy(alias)).body
    assert.equal(policy.id, policyUrl(alias))
    assert.equal(policy.type, 'Microsoft.Sql/servers/databases/dataMaskingPolicies')
    assert.equal((await send('GET', rulesUrl(db.replace('Vendor.Sql', 'Other.Sql')))).status, 404)
  },
)
