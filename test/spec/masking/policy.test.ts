import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { emailRule, freshDatabase, policyUrl, rulesUrl, useMasking } from '../../support/masking.ts'

const { send, putRule, listRules, getPolicy, putPolicy } = useMasking()

clause(
  'MASK-41',
  '`properties.dataMaskingState` of the policy is `Enabled` or `Disabled`: whether masking is on.',
  async () => {
    const db = freshDatabase()
    for (const dataMaskingState of ['Enabled', 'Disabled']) {
      const { status, body } = await putPolicy(db, { dataMaskingState })
      assert.equal(status, 200)
      assert.equal(body.properties.dataMaskingState, dataMaskingState)
      assert.deepEqual((await getPolicy(db)).body, body)
    }
  },
)

test('exemptPrincipals is one string that is kept as it was sent', async () => {
  const db = freshDatabase()
  const exemptPrincipals = `auditor;"Odd' $$ \\ Role";anna@example.com`
  assert.equal(
    (await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals })).body.properties.exemptPrincipals,
    exemptPrincipals,
  )
  for (const wrong of [['auditor'], 1, { a: 1 }])
    assert.equal((await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: wrong })).status, 400)
  for (const wrong of [
    'a\0b',
    'a\nb',
    'x'.repeat(400),
    Array.from({ length: 1001 }, (_, i) => i).join(';'),
  ]) {
    const { status, body } = await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: wrong })
    assert.equal(status, 400)
    assert.equal(body.error.target, 'properties.exemptPrincipals')
  }
  assert.equal((await getPolicy(db)).body.properties.exemptPrincipals, exemptPrincipals)
})

/** Taken, and of no effect. */
function checkLegacy(field: string) {
  return async () => {
    const db = freshDatabase()
    const { status, body } = await putPolicy(db, { dataMaskingState: 'Enabled', [field]: 'anything' })
    assert.equal(status, 200)
    assert.equal(body.properties[field], '')
    assert.equal((await getPolicy(db)).body.properties[field], '')
    assert.equal((await putPolicy(db, { dataMaskingState: 'Enabled', [field]: 5 })).status, 400)
  }
}

clause(
  'MASK-43',
  '`properties.applicationPrincipals` is a string left over from an older version, without effect.',
  checkLegacy('applicationPrincipals'),
)

clause(
  'MASK-44',
  '`properties.maskingLevel` is a string left over from an older version, without effect.',
  checkLegacy('maskingLevel'),
)

clause(
  'MASK-45',
  'The list of rules is an object whose field `value` is an array with the rules of the database, each in the form of a single rule.',
  async () => {
    const db = freshDatabase()
    assert.deepEqual((await send('GET', rulesUrl(db))).body, { value: [] })
    const rule = (await putRule(db, 'r', emailRule)).body
    assert.deepEqual((await send('GET', rulesUrl(db))).body, { value: [rule] })
  },
)

clause(
  'MASK-51',
  'The state of a policy, `dataMaskingState`, is `Enabled` or `Disabled` and nothing else.',
  async () => {
    const db = freshDatabase()
    const before = (await getPolicy(db)).body
    for (const dataMaskingState of ['enabled', 'On', '', null, undefined, true, 1, ['Enabled']]) {
      const { status, body } = await putPolicy(db, { dataMaskingState })
      assert.equal(status, 400, String(dataMaskingState))
      assert.equal(body.error.code, 'InvalidRequestContent')
      assert.equal(body.error.target, 'properties.dataMaskingState')
    }
    assert.deepEqual((await getPolicy(db)).body, before)
  },
)

clause(
  'MASK-55',
  '`GET {db}/dataMaskingPolicies/Default?api-version=2014-04-01` takes no body and answers 200 with the policy.',
  async () => {
    const db = freshDatabase()
    const { status, body } = await send('GET', `${policyUrl(db)}?api-version=2014-04-01`)
    assert.equal(status, 200)
    assert.equal(body.id, policyUrl(db))
  },
)

clause(
  'MASK-101',
  'Every database has a policy from the start: `Disabled`, with `exemptPrincipals`, `applicationPrincipals` and `maskingLevel` each the empty string.',
  async () => {
    assert.deepEqual((await getPolicy(freshDatabase())).body.properties, {
      dataMaskingState: 'Disabled',
      exemptPrincipals: '',
      applicationPrincipals: '',
      maskingLevel: '',
    })
  },
)

clause(
  'MASK-102',
  'Creating a rule sets the policy to `Enabled` unless a caller has set the policy before.',
  async () => {
    const [db, chosen] = [freshDatabase(), freshDatabase()]
    await putRule(db, 'r', emailRule)
    assert.equal((await getPolicy(db)).body.properties.dataMaskingState, 'Enabled')

    await putPolicy(chosen, { dataMaskingState: 'Disabled' })
    await putRule(chosen, 'r', emailRule)
    assert.equal((await getPolicy(chosen)).body.properties.dataMaskingState, 'Disabled')

    await putPolicy(db, { dataMaskingState: 'Disabled' })
    await putRule(db, 'r2', { ...emailRule, columnName: 'other' })
    assert.equal((await getPolicy(db)).body.properties.dataMaskingState, 'Disabled')
  },
)

clause(
  'MASK-103',
  '`PUT {db}/dataMaskingPolicies/Default` sets the policy and answers 200 with it…',
  async () => {
    const db = freshDatabase()
    const first = await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: 'auditor' })
    assert.equal(first.status, 200)
    assert.deepEqual(first.body, (await getPolicy(db)).body)
    assert.equal((await putPolicy(db, { exemptPrincipals: 'dba' })).status, 400)
    assert.equal((await getPolicy(db)).body.properties.exemptPrincipals, 'auditor')
    await putPolicy(db, { dataMaskingState: 'Enabled' })
    assert.equal((await getPolicy(db)).body.properties.exemptPrincipals, '')
  },
)

clause(
  'MASK-104',
  'Entries of `exemptPrincipals` are trimmed, repeated ones dropped, and the rest stored and answered joined by `;`.',
  async () => {
    const db = freshDatabase()
    const sent = ' dba ; auditor;;dba;\tAuditor ; '
    const { body } = await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: sent })
    assert.equal(body.properties.exemptPrincipals, 'dba;auditor;Auditor')
    assert.equal((await getPolicy(db)).body.properties.exemptPrincipals, 'dba;auditor;Auditor')
  },
)

test('a policy that is set to Disabled keeps every rule', async () => {
  const db = freshDatabase()
  const rule = (await putRule(db, 'r', emailRule)).body
  await putPolicy(db, { dataMaskingState: 'Disabled' })
  assert.deepEqual(await listRules(db), [rule])
})

test('a policy that was read can be sent back', async () => {
  const db = freshDatabase()
  await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: 'auditor' })
  const { body } = await getPolicy(db)
  assert.deepEqual((await send('PUT', policyUrl(db), body)).body, body)
})
