import assert from 'node:assert/strict'
import { clause } from '../../support/clause.ts'
import { emailRule, freshDatabase, useMasking } from '../../support/masking.ts'

const { putRule, listRules, getRule } = useMasking()

const numberRule = {
  ...emailRule,
  columnName: 'salary',
  maskingFunction: 'Number',
  numberFrom: '1',
  numberTo: '9',
}
const textRule = {
  ...emailRule,
  columnName: 'phone',
  maskingFunction: 'Text',
  prefixSize: '2',
  suffixSize: '3',
  replacementString: 'xx',
}

/** A required string: other values come back as they went, and without one nothing is stored. */
function checkRequired(field: 'schemaName' | 'tableName' | 'columnName') {
  return async () => {
    const db = freshDatabase()
    for (const [at, value] of [
      'plain',
      'Mixed Case',
      `"quoted" 'and' $$ \\ ; --`,
      'Größe_日本語_🙂',
      'x'.repeat(128),
    ].entries()) {
      const answer = await putRule(db, `r${at}`, { ...emailRule, [field]: value })
      assert.equal(answer.status, 201, value)
      assert.equal(answer.body.properties[field], value)
      assert.equal((await getRule(db, `r${at}`)).body.properties[field], value)
    }
    const stored = await listRules(db)
    for (const value of [undefined, null, '', 'x'.repeat(129), 'a\0b', '\ud800'])
      await checkRefused(db, { ...emailRule, [field]: value }, 'InvalidDataMaskingRule', field)
    for (const value of [1, true, ['a'], {}])
      await checkRefused(db, { ...emailRule, [field]: value }, 'InvalidRequestContent', field)
    assert.deepEqual(await listRules(db), stored)
  }
}

async function checkRefused(db: string, properties: object, code: string, field: string): Promise<void> {
  const { status, body } = await putRule(db, 'refused', properties)
  assert.equal(status, 400, JSON.stringify(properties).slice(0, 200))
  assert.equal(body.error.code, code)
  assert.equal(body.error.target, `properties.${field}`)
  assert.equal((await getRule(db, 'refused')).status, 404)
}

clause(
  'MASK-23',
  '`properties.schemaName` is a string and required on input: the schema of the masked column.',
  checkRequired('schemaName'),
)

clause(
  'MASK-24',
  '`properties.tableName` is a string and required on input: the table of the masked column.',
  checkRequired('tableName'),
)

clause(
  'MASK-25',
  '`properties.columnName` is a string and required on input: the masked column itself.',
  checkRequired('columnName'),
)

clause(
  'MASK-26',
  '`properties.maskingFunction` is required on input and one of `CCN`, `Default`, `Email`, `Number`, `SSN`, `Text`; any other value is refused.',
  async () => {
    const db = freshDatabase()
    for (const maskingFunction of ['CCN', 'Default', 'Email', 'Number', 'SSN', 'Text']) {
      const rule = { ...numberRule, columnName: maskingFunction, maskingFunction }
      const { status, body } = await putRule(db, maskingFunction, rule)
      assert.equal(status, 201)
      assert.equal(body.properties.maskingFunction, maskingFunction)
    }
    for (const maskingFunction of [undefined, null])
      await checkRefused(db, { ...emailRule, maskingFunction }, 'InvalidDataMaskingRule', 'maskingFunction')
    for (const maskingFunction of ['', 'email', 'Random', 'Email ', 1, ['Email']])
      await checkRefused(db, { ...emailRule, maskingFunction }, 'InvalidRequestContent', 'maskingFunction')
  },
)

clause(
  'MASK-27',
  '`properties.ruleState` is optional on input and either `Enabled` or `Disabled`; any other value is refused.',
  async () => {
    const db = freshDatabase()
    for (const [at, ruleState] of [undefined, 'Enabled', 'Disabled'].entries()) {
      const answer = await putRule(db, `r${at}`, { ...emailRule, columnName: `c${at}`, ruleState })
      assert.equal(answer.status, 201)
    }
    for (const ruleState of ['enabled', 'On', '', 1, true])
      await checkRefused(db, { ...emailRule, ruleState }, 'InvalidRequestContent', 'ruleState')
  },
)

clause(
  'MASK-28',
  '`properties.aliasName` is an optional string left over from an older version: it is accepted and has no effect on the mask.',
  async () => {
    const db = freshDatabase()
    const { body } = await putRule(db, 'r', { ...emailRule, aliasName: 'Alias' })
    assert.equal(body.properties.aliasName, 'Alias')
    const { aliasName: _, ...rest } = body.properties
    const without = (await putRule(db, 'r', emailRule)).body.properties
    assert.deepEqual({ ...without, aliasName: undefined }, { ...rest, aliasName: undefined })
    await checkRefused(db, { ...emailRule, aliasName: 7 }, 'InvalidRequestContent', 'aliasName')
  },
)

const bad = ['', 'one', '1,5', '1e3', 'NaN', 'Infinity', '0x10', ' 1', '1 ', '--1', '.', '9'.repeat(129)]

function checkBound(field: 'numberFrom' | 'numberTo') {
  return async () => {
    const db = freshDatabase()
    const rule = { ...numberRule, numberFrom: '-1000000', numberTo: `1${'0'.repeat(60)}` }
    for (const value of [
      '0',
      '-12.50',
      '+7',
      '00012',
      '123456789012345678901234567890.000000000000000000001',
    ]) {
      const { body } = await putRule(db, 'r', { ...rule, [field]: value })
      assert.equal(body.properties?.[field], value, JSON.stringify(body))
    }
    for (const value of [undefined, null, ...bad])
      await checkRefused(
        db,
        { ...numberRule, columnName: 'x', [field]: value },
        'InvalidDataMaskingRule',
        field,
      )
    await checkRefused(db, { ...numberRule, [field]: 5 }, 'InvalidRequestContent', field)
  }
}

clause(
  'MASK-29',
  '`properties.numberFrom`, a string, is required with `Number`, where it is the lower bound of the mask.',
  async () => {
    await checkBound('numberFrom')()
    const db = freshDatabase()
    // Too close, or too long, for floating point.
    for (const [numberFrom, numberTo] of [
      ['2', '1'],
      ['0.30000000000000000000000001', '0.3'],
      ['9007199254740993', '9007199254740992'],
      ['-1', '-1.0000000000000000000001'],
    ])
      await checkRefused(db, { ...numberRule, numberFrom, numberTo }, 'InvalidDataMaskingRule', 'numberFrom')
    assert.equal((await putRule(db, 'r', { ...numberRule, numberFrom: '1.0', numberTo: '1' })).status, 201)
  },
)

clause(
  'MASK-31',
  '`properties.numberTo`, a string, is required with `Number`, where it is the upper bound of the mask.',
  checkBound('numberTo'),
)

/** Any value, with a function that has no use for it. */
function checkIgnored(field: string, owner: string) {
  return async () => {
    const db = freshDatabase()
    const others = ['CCN', 'Default', 'Email', 'Number', 'SSN', 'Text'].filter((name) => name !== owner)
    for (const maskingFunction of others) {
      const rule = { ...emailRule, ...(maskingFunction === 'Number' && numberRule), maskingFunction }
      const { status, body } = await putRule(db, 'r', { ...rule, [field]: 'no such size' })
      assert.ok(status < 300, maskingFunction)
      assert.equal(body.properties[field], null)
    }
  }
}

clause(
  'MASK-30',
  '`properties.numberFrom` sent with any function but `Number` is ignored.',
  checkIgnored('numberFrom', 'Number'),
)

clause(
  'MASK-32',
  '`properties.numberTo` sent with any function but `Number` is ignored.',
  checkIgnored('numberTo', 'Number'),
)

function checkSize(field: 'prefixSize' | 'suffixSize') {
  return async () => {
    await checkIgnored(field, 'Text')()
    const db = freshDatabase()
    for (const value of ['0', '1', '007', '2147483647']) {
      const { body } = await putRule(db, 'r', { ...textRule, [field]: value })
      assert.equal(body.properties[field], value)
    }
    for (const value of ['', '-1', '1.5', '+1', '2147483648', 'two', ' 1', '1e2', '9'.repeat(40)])
      await checkRefused(
        db,
        { ...textRule, columnName: 'x', [field]: value },
        'InvalidDataMaskingRule',
        field,
      )
    await checkRefused(db, { ...textRule, [field]: 2 }, 'InvalidRequestContent', field)
  }
}

clause(
  'MASK-33',
  '`properties.prefixSize` is an optional string that counts only with `Text`: how many characters at the start stay readable. With other functions it is ignored.',
  checkSize('prefixSize'),
)

clause(
  'MASK-34',
  '`properties.suffixSize` is an optional string that counts only with `Text`: how many characters at the end stay readable. With other functions it is ignored.',
  checkSize('suffixSize'),
)

clause(
  'MASK-35',
  '`properties.replacementString` is an optional string that counts only with `Text`: the character, or characters, shown in place of the hidden part. With other functions it is ignored.',
  async () => {
    await checkIgnored('replacementString', 'Text')()
    const db = freshDatabase()
    for (const value of ['*', 'XXXX', `'; drop table person; --`, '$$\\', '🙂', '']) {
      const { body } = await putRule(db, 'r', { ...textRule, replacementString: value })
      assert.equal(body.properties.replacementString, value)
    }
    for (const value of ['x'.repeat(129), 'a\0', '\udfff'])
      await checkRefused(
        db,
        { ...textRule, columnName: 'x', replacementString: value },
        'InvalidDataMaskingRule',
        'replacementString',
      )
  },
)

clause(
  'MASK-36',
  '`properties.id` is a string of the answer, never of the input: the identifier of the rule, in the shape `<schemaName>_<tableName>_<columnName>`.',
  async () => {
    const { body } = await putRule(freshDatabase(), 'r', { ...emailRule, id: 'mine' })
    assert.equal(body.properties.id, 'public_person_email')
  },
)

const all = [
  'aliasName',
  'columnName',
  'id',
  'maskingFunction',
  'numberFrom',
  'numberTo',
  'prefixSize',
  'replacementString',
  'ruleState',
  'schemaName',
  'suffixSize',
  'tableName',
]

clause(
  'MASK-37',
  'Every answer with a rule has all of `schemaName`, `tableName`, `columnName`, `maskingFunction`, `ruleState`, `aliasName`, `numberFrom`, `numberTo`, `prefixSize`, `suffixSize`, `replacementString` and `id`.',
  async () => {
    const db = freshDatabase()
    const answers = [
      (await putRule(db, 'r', emailRule)).body,
      (await putRule(db, 'r', numberRule)).body,
      (await getRule(db, 'r')).body,
      (await listRules(db))[0],
      (await putRule(db, 'r', { ...numberRule, ruleState: 'Disabled' })).body,
    ]
    for (const { properties } of answers) assert.deepEqual(Object.keys(properties).sort(), all)
  },
)

clause(
  'MASK-38',
  'In an answer, an optional property that was not sent and does not apply is null, not left out.',
  async () => {
    const { properties } = (await putRule(freshDatabase(), 'r', emailRule)).body
    for (const field of [
      'aliasName',
      'numberFrom',
      'numberTo',
      'prefixSize',
      'suffixSize',
      'replacementString',
    ])
      assert.equal(properties[field], null, field)
  },
)

clause('MASK-39', 'A new rule sent without `ruleState` comes back with `ruleState` `Enabled`.', async () => {
  assert.equal((await putRule(freshDatabase(), 'r', emailRule)).body.properties.ruleState, 'Enabled')
})

clause(
  'MASK-40',
  '`numberFrom`, `numberTo`, `prefixSize` and `suffixSize` are strings on the wire, in requests and in answers, although they look like numbers.',
  async () => {
    const db = freshDatabase()
    const number = (await putRule(db, 'n', numberRule)).body.properties
    assert.deepEqual([number.numberFrom, number.numberTo], ['1', '9'])
    const text = (await putRule(db, 't', textRule)).body.properties
    assert.deepEqual([text.prefixSize, text.suffixSize], ['2', '3'])
    for (const field of ['numberFrom', 'numberTo', 'prefixSize', 'suffixSize'])
      await checkRefused(db, { ...numberRule, columnName: 'x', [field]: 1 }, 'InvalidRequestContent', field)
  },
)
