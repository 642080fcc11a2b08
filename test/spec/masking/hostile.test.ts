import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { apiVersion, emailRule, policyUrl, rulesUrl, ruleUrl, useMasking } from '../../support/masking.ts'
import { createEmptyDatabase, type TestDatabase } from '../../support/postgres.ts'

const { service, send, putRule, listRules } = useMasking()

const db = '/subscriptions/S/resourceGroups/G/providers/Vendor.Sql/servers/V/databases/D'
const server = db.replace(/\/databases.*/, '')
const roles = '/providers/Vendor.Authorization/roleAssignments'
const rule = ruleUrl(db, 'hostile')
const json = { 'content-type': 'application/json' }

interface Case {
  readonly what: string
  readonly method: string
  readonly path: string
  readonly body?: string | Buffer
  readonly headers?: Record<string, string>
}

const put = (what: string, path: string, body: unknown): Case => ({
  what,
  method: 'PUT',
  path: `${path}?${apiVersion}`,
  body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
})
const ask = (method: string, path: string): Case => ({ what: `${method} ${path}`, method, path })

const injections = [
  `'; drop table person; --`,
  `"; drop table person; --`,
  `email" from person; delete from person; --`,
  `$$; select pg_sleep(60); $$`,
  `\\'; drop table person; --`,
  `x' or '1'='1`,
  `\${7*7}`,
  `{{7*7}}`,
  `<script>alert(1)</script>`,
  `../../../../etc/passwd`,
  `%00`,
  `\u202egnp.exe`,
]
const wrongTypes: unknown[] = [0, -1, 1.5, true, false, [], {}, ['email'], { length: 5 }, 1e308]
const names = ['schemaName', 'tableName', 'columnName']
const strings = [
  ...names,
  'aliasName',
  'numberFrom',
  'numberTo',
  'prefixSize',
  'suffixSize',
  'replacementString',
]
const number = { ...emailRule, columnName: 'age', maskingFunction: 'Number', numberFrom: '1', numberTo: '2' }
const text = { ...emailRule, maskingFunction: 'Text' }
const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)
const binding = { host: '127.0.0.1', port: 1, database: 'd', user: 'u', password: 'p' }

const cases: Case[] = [
  ...strings.flatMap((field) =>
    wrongTypes.map((value) =>
      put(`${field} = ${JSON.stringify(value)}`, rule, { properties: { ...emailRule, [field]: value } }),
    ),
  ),
  ...wrongTypes.flatMap((value) => [
    put(`maskingFunction = ${JSON.stringify(value)}`, rule, {
      properties: { ...emailRule, maskingFunction: value },
    }),
    put(`ruleState = ${JSON.stringify(value)}`, rule, { properties: { ...emailRule, ruleState: value } }),
    put(`properties = ${JSON.stringify(value)}`, rule, { properties: value }),
    put(`dataMaskingState = ${JSON.stringify(value)}`, policyUrl(db), {
      properties: { dataMaskingState: value },
    }),
    put(`binding = ${JSON.stringify(value)}`, db, { properties: { binding: value } }),
    put(`tags = ${JSON.stringify(value)}`, server, {
      tags: Array.isArray(value) || value instanceof Object ? { a: value } : value,
    }),
    put(`principalId = ${JSON.stringify(value)}`, `${db}${roles}/${crypto.randomUUID()}`, {
      properties: { principalId: value },
    }),
  ]),
  ...injections.flatMap((value) => [
    ...names.map((field) =>
      put(`${field}: ${value}`, rule, { properties: { ...emailRule, [field]: value } }),
    ),
    put(`maskingFunction: ${value}`, rule, { properties: { ...emailRule, maskingFunction: value } }),
    put(`ruleState: ${value}`, rule, { properties: { ...emailRule, ruleState: value } }),
    put(`numberFrom: ${value}`, rule, { properties: { ...number, numberFrom: value } }),
    put(`numberTo: ${value}`, rule, { properties: { ...number, numberTo: value } }),
    put(`prefixSize: ${value}`, rule, { properties: { ...text, prefixSize: value } }),
    put(`suffixSize: ${value}`, rule, { properties: { ...text, suffixSize: value } }),
    put(`a property: ${value}`, rule, { properties: { ...emailRule, [value]: 'x' } }),
    put(`a policy state: ${value}`, policyUrl(db), { properties: { dataMaskingState: value } }),
    put(`a host: ${value}`, db, { properties: { binding: { ...binding, host: value } } }),
    ask('GET', `${rulesUrl(db)}?api-version=${encodeURIComponent(value)}`),
    ask('GET', `${db}/auditEvents?${apiVersion}&from=${encodeURIComponent(value)}`),
    ask('GET', `${db}/auditEvents?${apiVersion}&$skipToken=${encodeURIComponent(value)}`),
    ask('GET', `${db}${roles}?${apiVersion}&$filter=${encodeURIComponent(value)}`),
    ask('GET', `${db}${roles}/${encodeURIComponent(value)}?${apiVersion}`),
  ]),
  ...strings.flatMap((field) => {
    const whole = { ...(field.startsWith('number') ? number : text), columnName: 'age' }
    return [
      put(`${field} is huge`, rule, { properties: { ...whole, [field]: 'x'.repeat(500_000) } }),
      put(`${field} holds NUL`, rule, { properties: { ...whole, [field]: 'a\0b' } }),
    ]
  }),
  put('the body is too large', rule, { properties: { ...emailRule, aliasName: 'x'.repeat(1_100_000) } }),
  put('a key twice', rule, '{"properties":{"schemaName":"a","schemaName":"b"}}'),
  put('properties twice', rule, `{"properties":${JSON.stringify(emailRule)},"properties":{}}`),
  put('a key twice, escaped', rule, '{"properties":{"schemaName":"a","schema\\u004eame":"b"}}'),
  put('__proto__', rule, '{"properties":{"__proto__":{"schemaName":"a"}}}'),
  put('constructor', rule, '{"properties":{"constructor":{"prototype":{}}}}'),
  put('deep objects', rule, `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`),
  put('deep lists', rule, nested(100_000, '[', ']')),
  put('deep and unclosed', rule, '['.repeat(200_000)),
  put(
    'a million keys',
    rule,
    `{"properties":{${Array.from({ length: 50_000 }, (_, i) => `"k${i}":1`).join(',')}}}`,
  ),
  put('not JSON', rule, '<?xml version="1.0"?><a/>'),
  put('JSON with a comment', rule, '{/* */}'),
  put('NaN', rule, '{"properties":NaN}'),
  put('a number too large', rule, '{"properties":1e999}'),
  put('a byte order mark alone', rule, '\ufeff'),
  put('bytes that are not UTF-8', rule, Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
  put(
    'half a surrogate pair',
    rule,
    '{"properties":{"schemaName":"\\ud800","tableName":"t","columnName":"c","maskingFunction":"Default"}}',
  ),
  put('a thousand exempt principals too many', policyUrl(db), {
    properties: {
      dataMaskingState: 'Enabled',
      exemptPrincipals: Array.from({ length: 2000 }, (_, i) => i).join(';'),
    },
  }),
  { ...put('no content type', rule, { properties: emailRule }), headers: {} },
  {
    ...put('another content type', rule, { properties: emailRule }),
    headers: { 'content-type': 'text/html' },
  },
  {
    ...put('another charset', rule, { properties: emailRule }),
    headers: { 'content-type': 'application/json; charset=utf-16' },
  },
  ...['POST', 'PATCH'].flatMap((method) =>
    [rule, policyUrl(db), db, server].map((path) => ask(method, path)),
  ),
  ...['PUT', 'DELETE', 'POST', 'PATCH'].map((method) => ask(method, `${rulesUrl(db)}?${apiVersion}`)),
  ...[
    '/subscription',
    '/subscriptions/%00',
    '/subscriptions/S%2FresourceGroups',
    '/subscriptions/S/resourceGroups/%ff',
    '/providers/%2e%2e/operations',
    '/providers/*',
    '/subscriptions//resourceGroups//providers/Vendor.Sql/servers//databases//dataMaskingPolicies/Default',
    `${db}/dataMaskingPolicies/Default/rules/a/b`,
    `${db}/dataMaskingPolicies/%2e%2e/rules`,
    `${db}/../D2/dataMaskingPolicies/Default`,
    `${policyUrl(db)}%00`,
    `${policyUrl(db)}/rules/%ff`,
    `${policyUrl(db)}/rules/%`,
    `${policyUrl(db)}/rules/%zz`,
    `${policyUrl(db)}/rules/a%00b`,
    `${policyUrl(db)}/rules/a%0d%0aSet-Cookie:x`,
    `${policyUrl(db)}/rules/${'x'.repeat(129)}`,
    `${policyUrl(db)}/rules/${'x'.repeat(3000)}`,
    policyUrl(db.replace('/D', '/D%2FdataMaskingPolicies')),
    policyUrl(db.replace('/S/', '/S%2FresourceGroups%2FG/')),
    policyUrl(db.replace('/V/', '/%00/')),
    policyUrl(db.replace('/V/', `/${'v'.repeat(2000)}/`)),
    policyUrl(db.replace('Vendor.Sql', 'Vendor.Sql.Evil')),
    policyUrl(db.replace('Vendor.Sql', '*')),
  ].map((path) => ask('GET', `${path}?${apiVersion}`)),
  ask('GET', `${rulesUrl(db)}?${apiVersion}&${apiVersion}`),
  ask('GET', `${rulesUrl(db)}?api-version[]=2014-04-01`),
  ask('GET', `${rulesUrl(db)}?api-version=2014-04-01%00`),
  ask('GET', `${rulesUrl(db)}?${apiVersion}&__proto__=x`),
  ask('GET', `${db}/auditEvents?${apiVersion}&$top=99999999999999999999`),
]

let bound: TestDatabase
before(async () => {
  bound = await createEmptyDatabase()
  await bound.database.sql.unsafe('create table public.person (email text, age integer)')
})
after(() => bound?.[Symbol.asyncDispose]())

function sendRaw(token: string, { method, path, body, headers = body === undefined ? {} : json }: Case) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const { httpPort } = service().listeners
    const sent = request(
      {
        host: '127.0.0.1',
        port: httpPort,
        method,
        path,
        headers: { authorization: `Bearer ${token}`, ...headers },
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (piece) => {
          text += piece
        })
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      },
    )
    // A body that is too large may be cut off while it is still being sent.
    sent.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EPIPE' || error.code === 'ECONNRESET'
        ? resolve({ status: 413, text: '' })
        : reject(error),
    )
    sent.end(body)
  })
}

/** Everything the masking API has stored. */
async function snapshot() {
  const { sql } = service().database
  const stored = []
  for (const table of ['server', 'masked_database', 'masking_rule', 'role_assignment', 'audit_event'])
    stored.push(await sql`select * from ${sql(table)} order by 1, 2, 3`)
  return stored
}

test(`${cases.length} hostile requests: always 4xx in the right shape, nothing stored, healthy after`, async () => {
  assert.ok(cases.length >= 100)
  const url = new URL(bound.url)
  await send('PUT', db, {
    properties: {
      binding: {
        host: url.hostname,
        port: Number(url.port),
        database: url.pathname.slice(1),
        user: url.username,
        password: decodeURIComponent(url.password),
      },
    },
  })
  assert.equal((await putRule(db, 'kept', emailRule)).status, 201)
  const [rules, stored] = [await listRules(db), await snapshot()]
  const token = service().tokenFor({ role: 'Owner', scope: '/subscriptions/S' })
  await service().tokens.settled()
  const granted = (await snapshot())[3]

  for (const one of cases) {
    const { status, text } = await sendRaw(token, one)
    assert.ok(status >= 400 && status < 500, `${one.what.slice(0, 300)}: ${status} ${text.slice(0, 300)}`)
    if (status === 413 && text === '') continue
    const { error } = JSON.parse(text)
    assert.match(error.code, /^[A-Z]\w+$/, one.what)
    assert.ok(error.message.length > 0 && text.length < 20_000, `${one.what.slice(0, 300)}: ${text.length}`)
    assert.doesNotMatch(text, /node_modules|\bat .+\.ts:\d+|syntax error|SQLSTATE|masquerade\./, one.what)
  }

  assert.deepEqual(
    await snapshot(),
    stored.map((rows, at) => (at === 3 ? granted : rows)),
  )
  assert.deepEqual(await listRules(db), rules)
  assert.equal((await service().request('GET', '/readyz')).status, 200)
  assert.equal((await bound.database.sql`select * from public.person`).length, 0)
  assert.equal((await send('DELETE', ruleUrl(db, 'kept'))).status, 200)
})
