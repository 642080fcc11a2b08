import assert from 'node:assert/strict'
import { test } from 'node:test'
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

const { service, send, putRule, listRules } = useMasking()

clause(
  'MASK-69',
  'Every error is `{"error":{"code","message"}}`, with `target` and `details` where they help; no error shows a stack trace, SQL or data of a table, and no line of the log shows data of a table.',
  async () => {
    const db = freshDatabase()
    const sql = service().database.sql
    await putRule(db, 'kept', { ...emailRule, columnName: 'Sesame' })
    const answers = [
      await send('PUT', ruleUrl(db, 'r'), '{'),
      await putRule(db, 'r', {}),
      await putRule(db, 'r', { ...emailRule, columnName: 'Sesame' }),
      await send('GET', `${db}/nothing`),
      await service().request('GET', `${rulesUrl(db)}?${apiVersion}`),
    ]
    await sql.unsafe('alter table masking_rule rename to gone')
    try {
      answers.push(await send('GET', rulesUrl(db)))
    } finally {
      await sql.unsafe('alter table gone rename to masking_rule')
    }
    assert.deepEqual(
      answers.map(({ status }) => status),
      [400, 400, 409, 404, 401, 500],
    )
    for (const { body, text } of answers) {
      assert.deepEqual(Object.keys(body), ['error'])
      for (const name of Object.keys(body.error))
        assert.ok(['code', 'message', 'target', 'details'].includes(name), name)
      assert.equal(typeof body.error.code, 'string')
      assert.equal(typeof body.error.message, 'string')
      assert.doesNotMatch(text, /Sesame|\bat .*:\d+:\d+|\bselect\b|\binsert\b|masking_rule|node_modules/i)
    }
  },
)

clause('MASK-70', 'A request without `api-version` is 400 `MissingApiVersionParameter`.', async () => {
  const db = freshDatabase()
  for (const url of [`${rulesUrl(db)}?`, `${policyUrl(db)}?api-version=`, `${db}?`]) {
    const { status, body } = await send('GET', url)
    assert.equal(status, 400)
    assert.equal(body.error.code, 'MissingApiVersionParameter')
  }
  // Strangers hear about their token first, and a bad body last.
  assert.equal((await service().request('GET', rulesUrl(db))).status, 401)
  const { body } = await send('PUT', `${ruleUrl(db, 'r')}?`, '{')
  assert.equal(body.error.code, 'MissingApiVersionParameter')
})

clause(
  'MASK-71',
  'A request with an unknown `api-version` is 400 `InvalidApiVersionParameter`, and the message lists the versions that are supported.',
  async () => {
    const db = freshDatabase()
    const { status, body } = await send('GET', `${rulesUrl(db)}?api-version=2021-01-01`)
    assert.equal(status, 400)
    assert.equal(body.error.code, 'InvalidApiVersionParameter')
    assert.match(body.error.message, /'2021-01-01'.*2014-04-01/)
    const server = await send('GET', `${db}?api-version=x`)
    assert.match(
      server.body.error.message,
      /2014-04-01, 2021-02-01-preview, .*2022-08-01-preview, .*2025-02-01-preview, 2026-11-01\./,
    )
  },
)

clause(
  'MASK-72',
  'A body that is empty, not JSON or not a JSON object is 400 `InvalidRequestContent`.',
  async () => {
    const db = freshDatabase()
    for (const text of [
      '',
      '   ',
      '{',
      'null',
      '[]',
      '"x"',
      '1',
      'true',
      '<a/>',
      '{"a":1,}',
      "{'a':1}",
      '{} {}',
    ])
      for (const url of [ruleUrl(db, 'r'), policyUrl(db), db]) {
        const { status, body } = await send('PUT', url, text)
        assert.equal(status, 400, text)
        assert.equal(body.error.code, 'InvalidRequestContent', text)
      }
    assert.equal((await send('GET', db)).status, 404)
  },
)

clause(
  'MASK-73',
  'An unknown property, or one of the wrong type, is 400 `InvalidRequestContent` and the error says which; a number where a numeric-looking string belongs counts as the wrong type.',
  async () => {
    const db = freshDatabase()
    const cases: [object, string][] = [
      [{ properties: { ...emailRule, colour: 'red' } }, 'properties.colour'],
      [{ properties: { ...emailRule, SchemaName: 'x' } }, 'properties.SchemaName'],
      [{ properties: emailRule, colour: 'red' }, 'colour'],
      [{ properties: { ...emailRule, tableName: 5 } }, 'properties.tableName'],
      [{ properties: { ...emailRule, prefixSize: 5 } }, 'properties.prefixSize'],
      [{ properties: { ...emailRule, numberFrom: 0.5 } }, 'properties.numberFrom'],
      [{ properties: 'text' }, 'properties'],
      [{ id: 5, properties: emailRule }, 'id'],
    ]
    for (const [sent, target] of cases) {
      const { status, body } = await send('PUT', ruleUrl(db, 'r'), sent)
      assert.equal(status, 400)
      assert.equal(body.error.code, 'InvalidRequestContent')
      assert.equal(body.error.target, target)
      assert.ok(body.error.message.includes(`'${target}'`), body.error.message)
    }
    assert.deepEqual(await listRules(db), [])
  },
)

clause(
  'MASK-74',
  'A missing required field or a combination of fields that makes no sense is 400 `InvalidDataMaskingRule`, with one entry in `details` per field.',
  async () => {
    const db = freshDatabase()
    const number = { ...emailRule, maskingFunction: 'Number' }
    const text = { ...emailRule, maskingFunction: 'Text' }
    const cases: [object, string[]][] = [
      [{ schemaName: 'a' }, ['tableName', 'columnName', 'maskingFunction']],
      [number, ['numberFrom', 'numberTo']],
      [{ ...number, numberFrom: '1' }, ['numberTo']],
      [{ ...number, numberFrom: '2', numberTo: '1' }, ['numberFrom']],
      [{ ...number, numberFrom: 'x', numberTo: 'y' }, ['numberFrom', 'numberTo']],
      [{ ...text, prefixSize: '-1', suffixSize: 'x' }, ['prefixSize', 'suffixSize']],
    ]
    for (const [properties, fields] of cases) {
      const { status, body } = await putRule(db, 'r', properties)
      assert.equal(status, 400)
      assert.equal(body.error.code, 'InvalidDataMaskingRule')
      assert.deepEqual(
        body.error.details.map((detail: { target: string }) => detail.target),
        fields.map((field) => `properties.${field}`),
      )
    }
    assert.deepEqual(await listRules(db), [])
  },
)

clause('MASK-76', 'A policy name other than `Default` is 404 `ResourceNotFound`.', async () => {
  const db = freshDatabase()
  for (const [method, path] of [
    ['GET', 'Other'],
    ['PUT', 'Other'],
    ['GET', 'Other/rules'],
    ['PUT', 'Other/rules/r'],
  ] as const) {
    const { status, body } = await send(method, `${db}/dataMaskingPolicies/${path}`)
    assert.equal(status, 404)
    assert.equal(body.error.code, 'ResourceNotFound')
  }
})

clause('MASK-77', 'A method that a path does not know is 405.', async () => {
  const db = freshDatabase()
  for (const [method, url] of [
    ['POST', ruleUrl(db, 'r')],
    ['PATCH', ruleUrl(db, 'r')],
    ['PUT', rulesUrl(db)],
    ['DELETE', rulesUrl(db)],
    ['DELETE', policyUrl(db)],
    ['PATCH', policyUrl(db)],
    ['POST', db],
    ['DELETE', `${db}/auditEvents`],
  ] as const) {
    const { status, headers, body } = await send(method, url)
    assert.equal(status, 405, `${method} ${url}`)
    assert.ok(!headers.get('allow')?.includes(method))
    assert.ok(headers.get('allow'))
    assert.equal(body.error.code, 'MethodNotAllowed')
  }
})

clause('MASK-78', 'A path that does not exist is 404 in the masking error shape.', async () => {
  const db = freshDatabase()
  for (const path of [
    '/subscription',
    '/subscriptions/s/nothing',
    `${db}/rules`,
    `${db}/dataMaskingPolicies`,
    `${rulesUrl(db)}/r/more`,
    db.replace('servers', 'clusters'),
    '/providers/Vendor.Sql/servers',
  ]) {
    const { status, body } = await send('GET', path)
    assert.equal(status, 404, path)
    assert.deepEqual(Object.keys(body.error), ['code', 'message'])
  }
})

clause('MASK-79', 'A request body over 1 MiB is 413.', async () => {
  const db = freshDatabase()
  const sized = (bytes: number) => {
    const frame = JSON.stringify({ properties: { ...emailRule, aliasName: '' } })
    return frame.replace('"aliasName":""', `"aliasName":"${'x'.repeat(bytes - frame.length)}"`)
  }
  assert.equal((await send('PUT', ruleUrl(db, 'r'), sized(1024 * 1024))).status, 400, 'too long a name')
  const { status, body } = await send('PUT', ruleUrl(db, 'r'), sized(1024 * 1024 + 1))
  assert.equal(status, 413)
  assert.equal(body.error.code, 'RequestEntityTooLarge')
})

clause(
  'MASK-80',
  'A request body in a media type other than JSON is 415 `UnsupportedMediaType`.',
  async () => {
    const db = freshDatabase()
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'nonsense']) {
      const { status, body } = await send(
        'PUT',
        ruleUrl(db, 'r'),
        { properties: emailRule },
        { 'content-type': type },
      )
      assert.equal(status, 415, type)
      assert.equal(body.error.code, 'UnsupportedMediaType')
    }
    for (const type of ['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON']) {
      const { status } = await send(
        'PUT',
        ruleUrl(db, 'r'),
        { properties: emailRule },
        { 'content-type': type },
      )
      assert.ok(status < 300, type)
    }
  },
)

clause(
  'MASK-82',
  'An unexpected failure is a bare 500 and an unavailable part of the service a 503, both in the masking error shape with a request id.',
  async () => {
    const db = freshDatabase()
    const sql = service().database.sql
    for (const [sqlstate, expected] of [
      ['XX000', 500],
      ['57P03', 503],
    ] as const) {
      await sql.unsafe(`
        create function fail_for_test() returns trigger language plpgsql as
          $$ begin raise exception 'Sesame' using errcode = '${sqlstate}'; end $$;
        create trigger fail_for_test before insert on masking_rule for each row execute function fail_for_test()`)
      const { status, headers, body, text } = await putRule(db, 'r', emailRule)
      await sql.unsafe(`drop trigger fail_for_test on masking_rule; drop function fail_for_test()`)
      assert.equal(status, expected)
      assert.deepEqual(Object.keys(body.error), ['code', 'message'])
      assert.ok(headers.get('x-ms-request-id'))
      assert.doesNotMatch(text, /Sesame/)
    }
    assert.deepEqual(await listRules(db), [])
  },
)

test('a query parameter that an operation does not know is refused', async () => {
  const { status, body } = await send('GET', `${rulesUrl(freshDatabase())}?${apiVersion}&$filter=x`)
  assert.equal(status, 400)
  assert.equal(body.error.code, 'InvalidQueryParameter')
})
