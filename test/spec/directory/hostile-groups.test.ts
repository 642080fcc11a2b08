import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestResponse, type TestService } from '../../support/service.ts'

describe('hostile input to groups and memberships', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string
  let group: string
  let user: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = await service.tokenFor({
      permissions: [
        'GroupMember.ReadWrite.All',
        'User.ReadWrite.All',
        'Group.ReadWrite.All',
        'Directory.Read.All',
      ],
    })
    group = await directory.group({ description: 'untouched' })
    user = await directory.user()
  })
  after(() => service?.[Symbol.asyncDispose]())

  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    service.request(method, `/v1.0${path}`, { token, headers, ...(body !== undefined && { body }) })

  /** Refused in the shape of the API, without a word of what is inside. */
  function checkRefusal(answer: TestResponse, what: string): void {
    assert.ok(answer.status >= 400 && answer.status < 500, `${what}: ${answer.status}`)
    const { code, message, innerError } = answer.body.error
    assert.equal(typeof code, 'string', what)
    assert.equal(typeof message, 'string', what)
    assert.ok(innerError['request-id'], what)
    assert.doesNotMatch(answer.text, /\bat .*\.ts|postgres|SQLSTATE|directory_object|member_edge/i, what)
    assert.ok(answer.text.length < 4000, what)
  }

  async function isUntouched(): Promise<void> {
    const [row] = await service.database.sql`
      select properties ->> 'description' as description, version from directory_object where id = ${group}`
    assert.deepEqual(row, { description: 'untouched', version: 1 })
    assert.deepEqual(await directory.directMembers(group), [])
    assert.equal((await service.request('GET', '/healthz')).status, 200)
  }

  test('odd URLs of members', async () => {
    const urls = [
      '',
      ' ',
      user,
      `/v1.0/directoryObjects/${user}`,
      `directoryObjects/${user}`,
      `//host/v1.0/directoryObjects/${user}`,
      `ftp://host/v1.0/directoryObjects/${user}`,
      `file:///v1.0/directoryObjects/${user}`,
      `data:text/plain,/v1.0/directoryObjects/${user}`,
      `javascript:/v1.0/directoryObjects/${user}`,
      `https://u:p@host/v1.0/directoryObjects/${user}`,
      `https://host/v1.0/directoryObjects/${user}?x=1`,
      `https://host/v1.0/directoryObjects/${user}#x`,
      `https://host/v1.0/directoryObjects/${user}/members`,
      `https://host/v1.0/directoryObjects/${user}/..`,
      'https://host/v1.0/directoryObjects/',
      'https://host/v1.0/directoryObjects',
      'https://host/v1.0/directoryObjects/not-an-id',
      `https://host/v1.0/directoryObjects/{${user}}`,
      `https://host/v1.0/directoryObjects('${user}`,
      `https://host/v1.0/directoryObjects("${user}")`,
      `https://host/v1.0/applications/${user}`,
      `https://host/v1.0/directoryRoles/${user}`,
      `https://host/v1.0/organization/${user}`,
      `https://host/v1.0/__proto__/${user}`,
      `https://host/v1.0/constructor/${user}`,
      'https://host/v1.0/users/ada@',
      'https://host/v1.0/users/%00',
      'https://host/v1.0/users/%E0%A4%A',
      'https://host/v1.0/users/a%2F..%2Fb@example.com',
      `https://host/v1.0/directoryObjects/${user}\u0000`,
      ` https://host/v1.0/directoryObjects/${user}`,
      `https://host/v1.0/directoryObjects/${user}\n`,
      `https://host/v1.0/directoryObjects/${user}'; drop table member_edge; --`,
      `https://host/${'x'.repeat(3000)}/directoryObjects/${user}`,
      'https://',
      'https://[::1/v1.0/directoryObjects/x',
    ]
    for (const url of urls) {
      checkRefusal(await send('POST', `/groups/${group}/members/$ref`, { '@odata.id': url }), url)
      checkRefusal(await send('PATCH', `/groups/${group}`, { 'members@odata.bind': [url] }), url)
    }
    await isUntouched()
  })

  test('odd identifiers in paths', async () => {
    const ids = [
      'x',
      '%00',
      '%20',
      "'",
      '%27%20or%201=1--',
      '..%2F..%2Fetc%2Fpasswd',
      '%E0%A4%A',
      'null',
      'undefined',
      '__proto__',
      'constructor',
      '00000000-0000-0000-0000-00000000000',
      '00000000-0000-0000-0000-0000000000000',
      `{${randomUUID()}}`,
      'x'.repeat(2000),
      '%F0%9F%8E%AD',
      "('x')",
      'a@b',
    ]
    for (const id of ids) {
      const body = { securityEnabledOnly: false }
      for (const set of ['groups', 'users', 'devices', 'contacts', 'servicePrincipals', 'directoryObjects'])
        checkRefusal(await send('POST', `/${set}/${id}/getMemberGroups`, body), `${set} ${id}`)
      checkRefusal(await send('PATCH', `/groups/${id}`, { description: 'x' }), id)
      checkRefusal(await send('GET', `/groups/${id}/members`), id)
      checkRefusal(await send('GET', `/groups/${group}/members/${id}`), id)
      checkRefusal(await send('DELETE', `/groups/${group}/members/${id}/$ref`), id)
      checkRefusal(await send('POST', `/directoryObjects/${user}/explainMembership`, { groupId: id }), id)
    }
    await isUntouched()
  })

  test('odd bodies', async () => {
    const deep = '['.repeat(5000) + ']'.repeat(5000)
    const url = `${service.origin}/v1.0/users/${user}`
    const bodies: [string, string][] = [
      ['nothing', ''],
      ['blanks', '  \n'],
      ['half an object', '{"description":'],
      ['two objects', '{"description":"x"}{"description":"y"}'],
      ['a comment', '{"description":"x"/**/}'],
      ['a trailing comma', '{"description":"x",}'],
      ['single quotes', "{'description':'x'}"],
      ['NaN', '{"unseenCount":NaN}'],
      ['a huge number', '{"unseenCount":1e999}'],
      ['a fraction', '{"unseenCount":1.5}'],
      ['a big integer', '{"unseenCount":99999999999999999999}'],
      ['a key twice', '{"description":"x","description":"y"}'],
      ['a key twice, escaped', '{"description":"x","\\u0064escription":"y"}'],
      ['__proto__', '{"__proto__":{"description":"x"}}'],
      ['__proto__ deep inside', '{"assignedLabels":[{"__proto__":{}}]}'],
      ['constructor', '{"constructor":{"prototype":{"x":1}}}'],
      ['deep nesting', `{"description":${deep}}`],
      ['deep members', `{"members@odata.bind":${deep}}`],
      ['a huge list', JSON.stringify({ 'members@odata.bind': Array.from({ length: 20_000 }, () => 'x') })],
      [
        'a huge list of labels',
        JSON.stringify({ assignedLabels: Array.from({ length: 5_000 }, () => ({})) }),
      ],
      ['more than a MiB', JSON.stringify({ description: 'x'.repeat(1_100_000) })],
      [
        'many unknown names',
        JSON.stringify(Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`p${at}`, 1]))),
      ],
      ['a lone surrogate', '{"description":"\\ud800"}'],
      ['a NUL', '{"description":"\\u0000"}'],
      ['a NUL in a name', '{"descr\\u0000iption":"x"}'],
      ['members that are an object', '{"members@odata.bind":{"length":1,"0":"x"}}'],
      [
        'members next to themselves',
        JSON.stringify({ 'members@odata.bind': [url], 'Members@odata.bind': [url] }),
      ],
      ['owners', JSON.stringify({ 'owners@odata.bind': [url] })],
      ['a reference', JSON.stringify({ '@odata.id': url, description: 7 })],
    ]
    for (const [what, body] of bodies) {
      checkRefusal(await send('PATCH', `/groups/${group}`, body), what)
      checkRefusal(await send('POST', `/groups/${group}/members/$ref`, body), what)
      checkRefusal(await send('POST', `/users/${user}/getMemberGroups`, body), what)
      checkRefusal(await send('POST', `/users/${user}/checkMemberGroups`, body), what)
    }
    await isUntouched()
  })

  test('odd media types, methods, queries and headers', async () => {
    const body = JSON.stringify({ securityEnabledOnly: false })
    const path = `/users/${user}/getMemberGroups`
    for (const type of [
      'text/plain',
      'application/xml',
      'multipart/form-data',
      'application/json; charset=utf-16',
      'x',
    ])
      checkRefusal(await send('POST', path, body, { 'content-type': type }), type)
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) checkRefusal(await send(method, path), method)
    checkRefusal(await send('DELETE', `/groups/${group}/members/${user}`), 'a member without $ref')
    checkRefusal(await send('PUT', `/groups/${group}/members/$ref`), 'PUT')
    for (const query of ['$filter=x', '$top=1', 'a=b', '$select=id'])
      checkRefusal(await send('POST', `${path}?${query}`, body), query)
    for (const query of [
      '$top=0',
      '$top=x',
      '$top=1000',
      '$filter=',
      "$filter=id eq 'x'",
      '$skiptoken=x',
      '$search=x',
      '$count=x',
    ])
      checkRefusal(await send('GET', `/groups/${group}/members?${query}`), query)
    for (const tag of ['x', '"99"', 'W/"0"', ''])
      if (tag)
        checkRefusal(await send('PATCH', `/groups/${group}`, { description: 'x' }, { 'if-match': tag }), tag)
    await isUntouched()
  })
})
