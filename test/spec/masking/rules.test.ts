import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { emailRule, freshDatabase, rulesUrl, ruleUrl, useMasking } from '../../support/masking.ts'

const { service, send, putRule, listRules, getRule } = useMasking()

const numberRule = {
  ...emailRule,
  columnName: 'salary',
  maskingFunction: 'Number',
  numberFrom: '1',
  numberTo: '9',
}
const disabled = { ruleState: 'Disabled' }

clause(
  'MASK-90',
  'A rule name has 1 to 128 characters after percent-decoding, none of them a control character; any other character is allowed.',
  async () => {
    const db = freshDatabase()
    const names = [
      'x',
      'y'.repeat(128),
      '🙂'.repeat(128),
      `a/b\\c?d#e%f"g'h;i j$$`,
      ' lead and trail ',
      '...',
      'ümlaut',
    ]
    for (const [at, name] of names.entries()) {
      const { status, body } = await putRule(db, name, { ...emailRule, columnName: `c${at}` })
      assert.equal(status, 201, name)
      assert.equal(decodeURIComponent(body.id.split('/').at(-1)), name)
      assert.equal((await getRule(db, name)).status, 200)
    }
    assert.equal((await listRules(db)).length, names.length)
    for (const name of ['z'.repeat(129), '🙂'.repeat(129), 'a\0b', 'a\nb', '\x7f', '\x85']) {
      const { status, body } = await putRule(db, name, { ...emailRule, columnName: 'refused' })
      assert.equal(status, 400, JSON.stringify(name))
      assert.equal(body.error.target, 'dataMaskingRuleName')
    }
    assert.equal((await listRules(db)).length, names.length)
  },
)

clause(
  'MASK-91',
  'A rule is identified by its name: a PUT under an existing name with another column is an update that moves the rule to that column.',
  async () => {
    const db = freshDatabase()
    await putRule(db, 'r', emailRule)
    const moved = await putRule(db, 'r', { ...emailRule, schemaName: 's', tableName: 't', columnName: 'c' })
    assert.equal(moved.status, 200)
    assert.equal(moved.body.properties.id, 's_t_c')
    assert.deepEqual(await listRules(db), [moved.body])
    assert.equal((await putRule(db, 'r2', emailRule)).status, 201, 'the old column is free again')
  },
)

clause(
  'MASK-92',
  'A column has at most one rule: a PUT of that column under another rule name is 409 `Conflict`, and the message names the rule that is there.',
  async () => {
    const db = freshDatabase()
    await putRule(db, 'First Rule', emailRule)
    await putRule(db, 'other', { ...emailRule, columnName: 'phone' })
    const before = await listRules(db)
    for (const name of ['second', 'other']) {
      const { status, body } = await putRule(db, name, emailRule)
      assert.equal(status, 409)
      assert.equal(body.error.code, 'Conflict')
      assert.match(body.error.message, /'First Rule'/)
    }
    assert.deepEqual(await listRules(db), before)
    // PostgreSQL tells these apart, and so do rules.
    assert.equal((await putRule(db, 'upper', { ...emailRule, columnName: 'EMAIL' })).status, 201)
  },
)

clause(
  'MASK-93',
  'The PUT that deletes answers 200 with the whole rule and `ruleState` `Disabled`; the rule is then gone from the list.',
  async () => {
    const db = freshDatabase()
    const stored = (await putRule(db, 'r', numberRule)).body
    const { status, body } = await putRule(db, 'r', { ...numberRule, ...disabled })
    assert.equal(status, 200)
    assert.deepEqual(body, { ...stored, properties: { ...stored.properties, ruleState: 'Disabled' } })
    assert.deepEqual(await listRules(db), [])
  },
)

clause(
  'MASK-94',
  'The PUT that deletes must name the column of the stored rule in `schemaName`, `tableName` and `columnName`, or it is 400 and the rule stays.',
  async () => {
    const db = freshDatabase()
    const { body } = await putRule(db, 'r', emailRule)
    for (const field of ['schemaName', 'tableName', 'columnName']) {
      const refused = await putRule(db, 'r', { ...emailRule, ...disabled, [field]: 'another' })
      assert.equal(refused.status, 400)
      assert.equal(refused.body.error.code, 'InvalidDataMaskingRule')
      assert.equal(refused.body.error.target, `properties.${field}`)
    }
    assert.deepEqual(await listRules(db), [body])
  },
)

clause(
  'MASK-95',
  'The PUT that deletes needs the four required fields and nothing more, whatever the function: a `Number` rule goes without its bounds.',
  async () => {
    const db = freshDatabase()
    await putRule(db, 'r', numberRule)
    const { numberFrom: _from, numberTo: _to, ...four } = numberRule
    assert.equal((await putRule(db, 'r', { ...four, ...disabled })).status, 200)
    assert.deepEqual(await listRules(db), [])
  },
)

clause(
  'MASK-96',
  'A PUT of an existing rule with `ruleState` `Enabled` or none leaves it `Enabled` and replaces its properties; an optional property that is not sent again is null afterwards.',
  async () => {
    const db = freshDatabase()
    const rule = { ...emailRule, maskingFunction: 'Text' }
    for (const ruleState of ['Enabled', undefined]) {
      await putRule(db, 'r', {
        ...rule,
        aliasName: 'a',
        prefixSize: '1',
        suffixSize: '2',
        replacementString: '-',
      })
      const { status, body } = await putRule(db, 'r', { ...rule, ruleState, prefixSize: '4' })
      assert.equal(status, 200)
      assert.equal(body.properties.ruleState, 'Enabled')
      const { prefixSize, suffixSize, replacementString, aliasName } = (await getRule(db, 'r')).body
        .properties
      assert.deepEqual([prefixSize, suffixSize, replacementString, aliasName], ['4', null, null, null])
    }
  },
)

clause(
  'MASK-97',
  'A property that does not apply to the function is ignored when sent and null in the answer.',
  async () => {
    const db = freshDatabase()
    const extra = { numberFrom: '9', numberTo: '1', prefixSize: 'x', suffixSize: 'y', replacementString: 'z' }
    for (const maskingFunction of ['CCN', 'Default', 'Email', 'SSN']) {
      const { body } = await putRule(db, 'r', { ...emailRule, maskingFunction, ...extra })
      for (const field of Object.keys(extra)) assert.equal(body.properties[field], null, maskingFunction)
    }
    const number = (await putRule(db, 'r', { ...numberRule, prefixSize: 'x' })).body.properties
    assert.deepEqual([number.numberFrom, number.prefixSize], ['1', null])
    const text = await putRule(db, 'r', {
      ...emailRule,
      maskingFunction: 'Text',
      numberFrom: 'x',
      prefixSize: '1',
    })
    assert.deepEqual([text.body.properties.numberFrom, text.body.properties.prefixSize], [null, '1'])
  },
)

test('a property that applies and was not sent is null in the answer', async () => {
  const { properties } = (await putRule(freshDatabase(), 'r', { ...emailRule, maskingFunction: 'Text' })).body
  for (const field of ['prefixSize', 'suffixSize', 'replacementString']) assert.equal(properties[field], null)
})

clause(
  'MASK-99',
  '`properties.id` and the read-only fields of the envelope are tolerated in a request body and change nothing.',
  async () => {
    const db = freshDatabase()
    const plain = (await putRule(db, 'r', emailRule)).body
    const { body } = await send('PUT', ruleUrl(db, 'r'), {
      id: '/somewhere/else',
      name: 'another',
      type: 'Other.Type',
      location: 'the moon',
      kind: 'odd',
      properties: { ...emailRule, id: 'a_b_c' },
    })
    assert.deepEqual(body, plain)
  },
)

clause(
  'MASK-100',
  'The list has all rules in one answer, ordered by schema, then table, then column, and `value` is its only field.',
  async () => {
    const db = freshDatabase()
    const columns = ['b.t.c', 'a.u.z', 'a.t.z', 'a.t.B', 'a.t.a', 'B.t.c', 'a.T.z', 'ä.t.c']
    for (const [at, column] of columns.entries()) {
      const [schemaName, tableName, columnName] = column.split('.')
      await putRule(db, `r${at}`, { ...emailRule, schemaName, tableName, columnName })
    }
    const { body } = await send('GET', rulesUrl(db))
    assert.deepEqual(Object.keys(body), ['value'])
    const listed = body.value.map((rule: { properties: Record<string, string> }) =>
      [rule.properties.schemaName, rule.properties.tableName, rule.properties.columnName].join('.'),
    )
    assert.deepEqual(listed, columns.toSorted())
  },
)

test('a thousand rules are listed in one answer', async () => {
  const db = freshDatabase()
  assert.equal((await putRule(db, 'column_0', { ...emailRule, columnName: 'column_0' })).status, 201)
  await service().database.sql`
    insert into masking_rule select (jsonb_populate_record(rule, jsonb_build_object(
      'key', 'column_' || at, 'name', 'column_' || at, 'column_name', 'column_' || at))).*
    from masking_rule as rule, generate_series(1, 999) as at where rule.name = 'column_0'`
  const rules = await listRules(db)
  assert.equal(new Set(rules.map((rule: { id: string }) => rule.id)).size, 1000)
})
