import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { emailRule, freshDatabase, policyUrl, rulesUrl, ruleUrl, useMasking } from '../../support/masking.ts'

const { send, putRule, listRules, getRule, getPolicy } = useMasking()

const numberRule = {
  ...emailRule,
  columnName: 'salary',
  maskingFunction: 'Number',
  numberFrom: '1',
  numberTo: '9',
}
const disabled = { ruleState: 'Disabled' }

clause(
  'MASK-46',
  'A stored rule is in one of the states `Enabled` and `Disabled`, shown in `properties.ruleState`.',
  async () => {
    const db = freshDatabase()
    await putRule(db, 'r', emailRule)
    assert.equal((await getRule(db, 'r')).body.properties.ruleState, 'Enabled')
    assert.equal((await listRules(db))[0].properties.ruleState, 'Enabled')
    const gone = await putRule(db, 'r', { ...emailRule, ...disabled })
    assert.equal(gone.body.properties.ruleState, 'Disabled')
  },
)

clause(
  'MASK-47',
  'A PUT of an absent rule with any valid `ruleState`, `Disabled` included, creates it `Enabled`: the state that was sent is disregarded.',
  async () => {
    const db = freshDatabase()
    for (const ruleState of ['Disabled', 'Enabled']) {
      const { status, body } = await putRule(db, ruleState, {
        ...emailRule,
        columnName: ruleState,
        ruleState,
      })
      assert.equal(status, 201)
      assert.equal(body.properties.ruleState, 'Enabled')
      assert.deepEqual((await getRule(db, ruleState)).body, body)
    }
  },
)

clause('MASK-48', 'A PUT that creates a rule, with or without `ruleState`, answers 201.', async () => {
  const db = freshDatabase()
  for (const ruleState of [undefined, null, 'Enabled', 'Disabled']) {
    const rule = { ...emailRule, columnName: `c-${ruleState}`, ruleState }
    assert.equal((await putRule(db, `r-${ruleState}`, rule)).status, 201)
  }
})

clause('MASK-49', 'A PUT of an absent rule without `ruleState` creates it `Enabled`.', async () => {
  const db = freshDatabase()
  assert.equal((await putRule(db, 'r', emailRule)).body.properties.ruleState, 'Enabled')
})

clause(
  'MASK-50',
  'A PUT of an enabled rule with `ruleState` `Disabled` and with `schemaName`, `tableName`, `columnName` and `maskingFunction` deletes the rule; this is the way to delete one.',
  async () => {
    const db = freshDatabase()
    await putRule(db, 'r', emailRule)
    for (const field of Object.keys(emailRule)) {
      const refused = await putRule(db, 'r', { ...emailRule, ...disabled, [field]: undefined })
      assert.equal(refused.status, 400, field)
    }
    assert.equal((await listRules(db)).length, 1)
    assert.equal((await putRule(db, 'r', { ...emailRule, ...disabled })).status, 200)
    assert.equal((await getRule(db, 'r')).status, 404)
    assert.equal((await putRule(db, 'r', emailRule)).status, 201)
  },
)

clause(
  'MASK-52',
  '`PUT {db}/dataMaskingPolicies/Default/rules/{dataMaskingRuleName}?api-version=2014-04-01` creates or updates a rule; its body is a JSON object with a `properties` object that holds the input fields.',
  async () => {
    const db = freshDatabase()
    const url = `${db}/dataMaskingPolicies/Default/rules/r?api-version=2014-04-01`
    assert.equal((await send('PUT', url, { properties: emailRule })).status, 201)
    assert.equal((await send('PUT', url, { properties: numberRule })).status, 200)
    for (const body of [emailRule, {}, { properties: null }, { properties: [] }, [], '"text"', 'null'])
      assert.equal((await send('PUT', url, body)).status, 400, JSON.stringify(body))
  },
)

clause(
  'MASK-53',
  'The rule PUT answers 200 with one rule when the rule existed and 201 with one rule when it was created.',
  async () => {
    const db = freshDatabase()
    const created = await putRule(db, 'r', emailRule)
    const updated = await putRule(db, 'r', { ...emailRule, maskingFunction: 'Default' })
    assert.deepEqual([created.status, updated.status], [201, 200])
    assert.equal(updated.body.id, created.body.id)
    assert.equal(updated.body.properties.maskingFunction, 'Default')
  },
)

clause(
  'MASK-54',
  '`GET {db}/dataMaskingPolicies/Default/rules?api-version=2014-04-01` takes no body and answers 200 with the list of rules.',
  async () => {
    const { status, body } = await send('GET', `${rulesUrl(freshDatabase())}?api-version=2014-04-01`)
    assert.equal(status, 200)
    assert.deepEqual(body.value, [])
  },
)

clause(
  'MASK-56',
  'The body of the rule PUT must have `schemaName`, `tableName`, `columnName` and `maskingFunction` in `properties`; every other property may be left out.',
  async () => {
    const db = freshDatabase()
    assert.equal((await putRule(db, 'r', emailRule)).status, 201)
    const { body } = await putRule(db, 'none', {})
    assert.deepEqual(
      body.error.details.map((detail: { target: string }) => detail.target),
      Object.keys(emailRule).map((field) => `properties.${field}`),
    )
  },
)

clause('MASK-57', 'A rule with `Number` comes with `numberFrom` and `numberTo`.', async () => {
  const db = freshDatabase()
  const { body } = await putRule(db, 'r', numberRule)
  assert.deepEqual([body.properties.numberFrom, body.properties.numberTo], ['1', '9'])
  const bare = await putRule(db, 'bare', { ...emailRule, maskingFunction: 'Number' })
  assert.equal(bare.status, 400)
  assert.deepEqual(
    bare.body.error.details.map((detail: { target: string }) => detail.target),
    ['properties.numberFrom', 'properties.numberTo'],
  )
})

clause(
  'MASK-58',
  'A rule with `Text` may come with `prefixSize`, `suffixSize` and `replacementString`, all of them, some or none.',
  async () => {
    const db = freshDatabase()
    const options = { prefixSize: '1', suffixSize: '2', replacementString: '-' }
    const names = Object.keys(options) as (keyof typeof options)[]
    for (let chosen = 0; chosen < 8; chosen++) {
      const sent = Object.fromEntries(
        names.filter((_, at) => chosen & (1 << at)).map((name) => [name, options[name]]),
      )
      const { status, body } = await putRule(db, 'r', { ...emailRule, maskingFunction: 'Text', ...sent })
      assert.ok(status < 300)
      for (const name of names) assert.equal(body.properties[name], sent[name] ?? null)
    }
  },
)

clause(
  'MASK-59',
  'A rule with `Default` needs the four required fields alone; `aliasName` and `ruleState` may be added.',
  async () => {
    const db = freshDatabase()
    const rule = { ...emailRule, maskingFunction: 'Default' }
    assert.equal((await putRule(db, 'r', rule)).status, 201)
    assert.equal((await putRule(db, 'r', { ...rule, aliasName: 'a', ruleState: 'Enabled' })).status, 200)
  },
)

clause(
  'MASK-60',
  'The answer to the rule PUT shows the rule as it is stored, with the fields of a rule answer.',
  async () => {
    const db = freshDatabase()
    for (const rule of [emailRule, numberRule, { ...emailRule, aliasName: 'x', prefixSize: '3' }]) {
      const { body } = await putRule(db, 'r', rule)
      assert.deepEqual((await getRule(db, 'r')).body, body)
      assert.deepEqual(await listRules(db), [body])
    }
  },
)

clause(
  'MASK-61',
  'The three core operations succeed with 200; only the rule PUT knows 201 as well.',
  async () => {
    const db = freshDatabase()
    assert.equal((await send('PUT', ruleUrl(db, 'r'), { properties: emailRule })).status, 201)
    assert.equal((await send('PUT', ruleUrl(db, 'r'), { properties: emailRule })).status, 200)
    assert.equal((await send('GET', rulesUrl(db))).status, 200)
    assert.equal((await send('GET', policyUrl(db))).status, 200)
  },
)

clause(
  'MASK-62',
  'The required query parameter `api-version` selects the version, and `2014-04-01` is the one that all operations here use.',
  async () => {
    const db = freshDatabase()
    const paths = [rulesUrl(db), policyUrl(db), `${db}/auditEvents`, db.replace(/\/[^/]+$/, '')]
    const scope = '/subscriptions/sub-1/providers/Vendor.Authorization/roleAssignments'
    for (const path of [...paths, scope]) {
      assert.equal((await send('GET', `${path}?API-Version=2014-04-01`)).status, 200, path)
      assert.equal((await send('GET', `${path}?api-version=2013-01-01`)).status, 400, path)
    }
  },
)

test('a rule that was read can be sent back', async () => {
  const db = freshDatabase()
  const { body } = await putRule(db, 'r', numberRule)
  const again = await send('PUT', ruleUrl(db, 'r'), (await getRule(db, 'r')).body)
  assert.equal(again.status, 200)
  assert.deepEqual(again.body, body)
})

test('a policy stays enabled when its last rule is deleted', async () => {
  const db = freshDatabase()
  await putRule(db, 'r', emailRule)
  await putRule(db, 'r', { ...emailRule, ...disabled })
  assert.equal((await getPolicy(db)).body.properties.dataMaskingState, 'Enabled')
})
