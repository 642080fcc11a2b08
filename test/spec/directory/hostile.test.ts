import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { fillDirectory } from '../../support/directory.ts'
import { rawSender } from '../../support/raw-request.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
const deepList = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const group = (more: object) => ({
  displayName: 'A',
  mailEnabled: false,
  mailNickname: 'a',
  securityEnabled: true,
  ...more,
})
const user = (more: object) => ({
  accountEnabled: true,
  displayName: 'A',
  mailNickname: 'a',
  userPrincipalName: `${randomUUID()}@example.com`,
  passwordProfile: { password: 'a long-winded Phrase 42' },
  ...more,
})
const bind = (...urls: unknown[]) => ({ 'members@odata.bind': urls })
const ref = (url: unknown) => ({ '@odata.id': url })
const objectUrl = 'https://example.com/v1.0/directoryObjects'

const unknownMethods = ['TRACE', 'QUERY', 'PROPFIND']

type Case = readonly [
  what: string,
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
]

/** `{user}` and `{group}` stand for ids; a body that is text or bytes is sent as it is. */
const cases: readonly Case[] = [
  // bodies that are no object of ours
  ...[
    '',
    ' ',
    'null',
    '[]',
    '5',
    'true',
    '"text"',
    '{',
    '{"a"}',
    '{"a":1,}',
    "{'a':1}",
    '[1,2',
    '{}{}',
    '\u0000',
  ].flatMap((body): Case[] => [
    [`the body ${JSON.stringify(body)}`, 'POST', '/groups', body],
    [`the body ${JSON.stringify(body)} of an update`, 'PATCH', '/users/{user}', body],
  ]),
  [
    'bytes that are not UTF-8',
    'POST',
    '/groups',
    Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  ],
  ['a key given twice', 'POST', '/groups', '{"displayName":"a","displayName":"b"}'],
  [
    'a key given twice, once escaped',
    'PATCH',
    '/groups/{group}',
    '{"description":"a","descr\\u0069ption":"b"}',
  ],
  ['a key given twice further in', 'POST', '/users', '{"passwordProfile":{"password":"a","password":"b"}}'],
  ['deep nesting', 'POST', '/groups', `{"displayName":${deep(5000)}}`],
  ['deep lists', 'POST', '/groups', `{"displayName":${deepList(5000)}}`],
  ['__proto__', 'POST', '/groups', '{"__proto__":{"isAdmin":true},"displayName":"x"}'],
  ['__proto__ escaped', 'POST', '/groups', '{"\\u005f_proto__":{"a":1}}'],
  ['__proto__ inside', 'PATCH', '/applications/{user}', '{"web":{"__proto__":{"a":1}}}'],
  ['constructor', 'POST', '/groups', { ...group({}), constructor: { prototype: { a: 1 } } }],
  ['prototype', 'PATCH', '/users/{user}', { prototype: {} }],
  ['toString', 'PATCH', '/users/{user}', { toString: 'x' }],
  ['hasOwnProperty', 'PATCH', '/groups/{group}', { hasOwnProperty: true }],
  ['a property with an empty name', 'PATCH', '/users/{user}', { '': 1 }],
  ['a property with a very long name', 'PATCH', '/users/{user}', { ['x'.repeat(100_000)]: 1 }],
  [
    'ten thousand properties',
    'PATCH',
    '/users/{user}',
    Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`p${i}`, i])),
  ],
  ['more than a megabyte', 'POST', '/groups', group({ description: 'x'.repeat(1_100_000) })],

  // media types
  ...[
    'text/plain',
    'application/xml',
    'multipart/form-data',
    'application/json;charset=utf-16',
    'json',
    '*/*',
    'application/jsonx',
    '',
  ].map((type): Case => [`the media type '${type}'`, 'POST', '/groups', group({}), { 'content-type': type }]),
  ['a body announced as compressed', 'POST', '/groups', group({}), { 'content-encoding': 'gzip' }],

  // methods
  ...(['PUT', 'DELETE', 'PATCH', 'TRACE', 'QUERY', 'PROPFIND'] as const).map(
    (method): Case => [`${method} on a collection`, method, '/groups'],
  ),
  ['POST on an object', 'POST', '/users/{user}', {}],
  ['PUT on an object', 'PUT', '/groups/{group}', {}],
  ['GET on an action', 'GET', '/users/{user}/getMemberGroups'],
  ['PATCH on a reference', 'PATCH', '/groups/{group}/members/$ref', ref(`${objectUrl}/{user}`)],

  // values of the wrong type
  ...[null, 7, true, [], {}, ['a'], { a: 1 }, 'x'.repeat(10_000), '', '\u0000', '\ud800', 'a\u0000b'].map(
    (displayName): Case => [
      `displayName ${JSON.stringify(displayName)?.slice(0, 20)}`,
      'POST',
      '/groups',
      group({ displayName }),
    ],
  ),
  ...['true', 1, null, [true], {}].map(
    (securityEnabled): Case => [
      `securityEnabled ${JSON.stringify(securityEnabled)}`,
      'POST',
      '/groups',
      group({ securityEnabled }),
    ],
  ),
  ...['Unified', [1], [null], [['Unified']], ['Other'], {}, Array(1000).fill('Unified')].map(
    (groupTypes): Case => [
      `groupTypes ${JSON.stringify(groupTypes).slice(0, 20)}`,
      'POST',
      '/groups',
      group({ groupTypes }),
    ],
  ),
  ...['a@b', 'a b', 'é', '', 'x'.repeat(65), 'a.b', 'a"b', 'a\\b'].map(
    (mailNickname): Case => [
      `mailNickname ${JSON.stringify(mailNickname)}`,
      'PATCH',
      '/groups/{group}',
      { mailNickname },
    ],
  ),
  ...[
    'x',
    '@example.com',
    'a@',
    'a b@example.com',
    'a@b@c',
    `${'a'.repeat(65)}@example.com`,
    'a\u0000@example.com',
    'a@exa mple',
    7,
  ].map(
    (userPrincipalName): Case => [
      `userPrincipalName ${JSON.stringify(userPrincipalName)}`,
      'POST',
      '/users',
      user({ userPrincipalName }),
    ],
  ),
  ...[null, 'x', {}, { password: 7 }, { password: '' }, { password: 'x' }, { secret: 'x' }].map(
    (passwordProfile): Case => [
      `passwordProfile ${JSON.stringify(passwordProfile)}`,
      'POST',
      '/users',
      user({ passwordProfile }),
    ],
  ),
  ['a date that is no day', 'PATCH', '/users/{user}', { employeeHireDate: '2026-02-30T00:00:00Z' }],
  ['a huge list', 'PATCH', '/users/{user}', { otherMails: Array(50_000).fill('a') }],
  ['a number beyond all bounds', 'PATCH', '/groups/{group}', '{"unseenCount":1e400}'],
  ['half a surrogate pair', 'PATCH', '/users/{user}', '{"city":"\\udfff"}'],
  ['a read-only property', 'PATCH', '/users/{user}', { id: randomUUID() }],
  ['a secret of the directory', 'PATCH', '/applications/{user}', { passwordCredentials: [] }],

  // identifiers in the path
  ...[
    'x',
    '1',
    'null',
    'undefined',
    '-',
    `${randomUUID()}x`,
    '{00000000-0000-0000-0000-000000000000}',
    '%00',
    'a%00b',
    '%ff',
    '%zz',
    '%',
    '%25%30',
    "'",
    "';drop table users--",
    '..',
    '.',
    '%2e%2e',
    '..%2f..%2fetc%2fpasswd',
    '%F0%9F%98%80',
    'x'.repeat(3000),
    '__proto__',
    'constructor',
    "('x')",
    '()',
    "('",
    '*',
    '$count$',
    ':id',
  ].map((id): Case => [`the id ${id.slice(0, 30)}`, 'GET', `/groups/${id.replaceAll(' ', '%20')}`]),
  ...[
    '@',
    'a@',
    '@b',
    'a@b@c',
    'a%00@example.com',
    `${'a'.repeat(400)}@example.com`,
    'nobody@example.com',
    '%0a@example.com',
  ].map((id): Case => [`the user ${id.slice(0, 30)}`, 'GET', `/users/${id}`]),
  ['an alternate key that is none', 'GET', "/groups(displayName='x')"],
  ['an alternate key with no id', 'GET', "/applications(appId='x')"],
  ['an empty key', 'GET', "/users('')"],
  ['two keys', 'GET', "/users('a')('b')"],
  ['an absolute URL as a path', 'GET', '/http://example.com/secret'],
  ['a path within a path', 'GET', '/v1.0/users'],
  ['slashes', 'GET', '//users//x'],
  ['a thousand segments', 'GET', `/users${'/x'.repeat(1000)}`],
  ['a backslash', 'GET', '/users\\..\\x'],

  // query options
  ...[
    '$top=0',
    '$top=-1',
    '$top=1000',
    '$top=1e3',
    '$top=NaN',
    '$top=',
    '$top=1&$top=2',
    '$top=1&top=1',
    '$skip=1',
    '$search=x',
    '$apply=x',
    '$format=xml',
    '$foo=1',
    'foo=1',
    '__proto__=1',
    '__proto__[a]=1',
    'constructor=1',
    '$select=',
    '$select=,',
    '$select=x',
    '$select=__proto__',
    '$select=constructor',
    '$orderby=',
    '$orderby=x',
    '$orderby=id;drop',
    '$orderby=displayName asc desc',
    '$count=maybe',
    '$expand=x',
    '$expand=',
    '$skiptoken=x',
    '$skiptoken=%00',
    '$skiptoken=W10',
    '%00=1',
    '$select=%ff',
  ].map((query): Case => [`the option ${query}`, 'GET', `/groups?${query.replaceAll(' ', '%20')}`]),
  ...[
    "'",
    'displayName',
    'displayName eq',
    "displayName eq 'a",
    'displayName eq a',
    "displayName like 'a'",
    "eq 'a'",
    "displayName eq 'a' and",
    "(displayName eq 'a'",
    "displayName eq 'a')",
    "nothing eq 'a'",
    "__proto__ eq 'a'",
    'displayName eq 1',
    'securityEnabled eq 1',
    "securityEnabled eq 'true'",
    "id eq 'x'",
    "contains(displayName,'a')",
    'startswith(displayName)',
    "startswith(securityEnabled,'a')",
    'displayName in ()',
    "groupTypes eq 'a'",
    "groupTypes/any(x:y eq 'a')",
    "groupTypes/each(x:x eq 'a')",
    "displayName/any(x:x eq 'a')",
    "createdDateTime gt 'x'",
    'createdDateTime gt 2026-13-45T99:99:99Z',
    "displayName eq 'a\u0000'",
    '('.repeat(500),
    `${'not '.repeat(500)}displayName eq 'a'`,
    Array(200).fill("displayName eq 'a'").join(' or '),
    'x'.repeat(5000),
    "description eq 'a'; drop table x",
  ].map(
    (filter): Case => [
      `the filter ${filter.slice(0, 40)}`,
      'GET',
      `/groups?$filter=${encodeURIComponent(filter)}`,
    ],
  ),

  // references
  ...[
    '',
    'x',
    '/',
    'http://',
    'http:///',
    'javascript:alert(1)',
    'file:///etc/passwd',
    `${objectUrl}/`,
    `${objectUrl}/x`,
    `${objectUrl}/%00`,
    `${objectUrl}/%ff`,
    `${objectUrl}/{user}/x`,
    `https://example.com/v1.0/nothing/{user}`,
    `https://example.com/v1.0/organization/{user}`,
    `${objectUrl}/{user}?x=1`,
    `${objectUrl}/../groups/{user}`,
    'x'.repeat(100_000),
    7,
    null,
    [],
    {},
    [`${objectUrl}/{user}`],
  ].flatMap((url): Case[] => [
    [`the reference ${JSON.stringify(url).slice(0, 60)}`, 'POST', '/groups/{group}/members/$ref', ref(url)],
    [`${JSON.stringify(url).slice(0, 60)} among references`, 'PATCH', '/groups/{group}', bind(url)],
  ]),
  [
    '21 references',
    'PATCH',
    '/groups/{group}',
    bind(...Array.from({ length: 21 }, () => `${objectUrl}/${randomUUID()}`)),
  ],
  ['twenty thousand references', 'PATCH', '/groups/{group}', bind(...Array(20_000).fill('x'))],
  ['no reference', 'POST', '/groups/{group}/members/$ref', {}],
  [
    'references that are no list',
    'PATCH',
    '/groups/{group}',
    { 'members@odata.bind': `${objectUrl}/{user}` },
  ],
  ['a reference on creation that is none', 'POST', '/groups', group(bind(7))],
  ['a reference on creation to nothing', 'POST', '/groups', group(bind(`${objectUrl}/${randomUUID()}`))],
  [
    'a text for references on creation',
    'POST',
    '/groups',
    group({ 'members@odata.bind': `${objectUrl}/{user}` }),
  ],

  // actions
  ...[
    {},
    { securityEnabledOnly: 'true' },
    { securityEnabledOnly: null },
    { securityEnabledOnly: 1 },
    { securityEnabledOnly: true, more: 1 },
    { SecurityEnabledOnly: true },
  ].map(
    (body): Case => [
      `getMemberGroups ${JSON.stringify(body)}`,
      'POST',
      '/users/{user}/getMemberGroups',
      body,
    ],
  ),
  ...[
    {},
    { ids: 'x' },
    { ids: [] },
    { ids: [7] },
    { ids: ['x'] },
    { ids: Array(1001).fill(randomUUID()) },
    { ids: [randomUUID()], types: ['x'] },
    { ids: [randomUUID()], types: 'user' },
  ].map(
    (body): Case => [
      `getByIds ${JSON.stringify(body).slice(0, 40)}`,
      'POST',
      '/directoryObjects/getByIds',
      body,
    ],
  ),
  ...[{}, { groupIds: 'x' }, { groupIds: ['x'] }, { groupIds: Array(21).fill(randomUUID()) }].map(
    (body): Case => [
      `checkMemberGroups ${JSON.stringify(body).slice(0, 40)}`,
      'POST',
      '/users/{user}/checkMemberGroups',
      body,
    ],
  ),
  ['explainMembership without a group', 'POST', '/directoryObjects/{user}/explainMembership', {}],
  [
    'explainMembership of a list',
    'POST',
    '/directoryObjects/{user}/explainMembership',
    { groupId: ['{group}'] },
  ],
]

describe('hostile input', () => {
  let service: TestService
  let sender: ReturnType<typeof rawSender>
  let token: string
  let ids: Record<string, string>

  before(async () => {
    service = await startTestService()
    const directory = fillDirectory(service)
    sender = rawSender(service.origin)
    ids = { user: await directory.user(), group: await directory.group() }
    token = service.tokenFor({ permissions: Object.keys(knownPermissions) })
    await service.tokens.settled()
  })
  after(async () => {
    sender?.close()
    await service?.[Symbol.asyncDispose]()
  })

  const fill = (text: string) =>
    text.replaceAll(/\{(user|group)\}/g, (_whole, name: string) => ids[name] ?? '')

  async function send([, method, path, body, headers]: Case) {
    const text =
      body === undefined || Buffer.isBuffer(body)
        ? body
        : typeof body === 'string'
          ? body
          : fill(JSON.stringify(body))
    return await sender.send(
      method,
      `/v1.0${fill(path)}`,
      {
        authorization: `Bearer ${token}`,
        ...(text !== undefined && { 'content-type': 'application/json' }),
        ...(text !== undefined && { 'content-length': String(Buffer.byteLength(text as string)) }),
        ...headers,
      },
      text as string | Buffer | undefined,
    )
  }

  test('there are enough cases, each one of its own', () => {
    assert.ok(cases.length >= 100)
    assert.equal(new Set(cases.map(([what]) => what)).size, cases.length)
  })

  for (const hostile of cases)
    test(`${hostile[1]} ${hostile[2].slice(0, 40)}: ${hostile[0]}`, async () => {
      const { status, text } = await send(hostile)
      // A method that the service does not know at all is 501, every other fault is the caller's.
      if (unknownMethods.includes(hostile[1])) assert.equal(status, 501, text)
      else assert.ok(status >= 400 && status < 500, `${status} ${text.slice(0, 300)}`)
      const { error, ...rest } = JSON.parse(text)
      assert.deepEqual(rest, {})
      assert.equal(typeof error.code, 'string')
      assert.ok(error.message.length > 0 && error.message.length < 1000)
      assert.match(error.innerError.date, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/)
      assert.ok(error.innerError['request-id'] && error.innerError['client-request-id'])
      assert.doesNotMatch(text, /directory_object|syntax error|SQLSTATE|\.ts:\d/)
    })

  test('afterwards the service is well, and nothing has changed', async () => {
    assert.equal((await service.request('GET', '/readyz')).status, 200)
    const members = await service.request('GET', `/v1.0/groups/${ids.group}/members`, { token })
    assert.deepEqual([members.status, members.body.value], [200, []])
    const [counts] = await service.database.sql`
      select count(*) filter (where kind = 'group') as groups,
        count(*) filter (where version > 1 and kind in ('user', 'group')) as changed from directory_object`
    assert.deepEqual(counts, { groups: 1, changed: 0 })
    assert.equal(({} as Record<string, unknown>).isAdmin, undefined)
  })
})
