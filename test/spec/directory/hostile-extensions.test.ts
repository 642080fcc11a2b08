import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fillDirectory } from '../../support/directory.ts'
import { addExtensibleResources, type ExtensibleResources } from '../../support/extensible.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const type = 'vendor.graph.openTypeExtension'
const extension = (more: object = {}) => ({ '@odata.type': type, extensionName: 'com.example.bad', ...more })
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, at]))
const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
const extensionText = (more: string) => `{"@odata.type":"${type}","extensionName":"com.example.bad",${more}}`
const schema = (more: object) => ({
  id: 'bad',
  targetTypes: ['User'],
  properties: [{ name: 'a', type: 'String' }],
  ...more,
})
const definition = (more: object) => ({ name: 'bad', dataType: 'String', targetObjects: ['User'], ...more })
const recipients = (count: number) =>
  Array.from({ length: count }, () => ({ emailAddress: { address: 'a@example.com' } }))

type Case = readonly [
  what: string,
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
]

/** `{name}` stands for an id; a body that is text is sent as it is. */
const cases: readonly Case[] = [
  // bodies of a new extension
  ['a list', 'POST', '/me/extensions', []],
  ['a string', 'POST', '/me/extensions', '"text"'],
  ['null', 'POST', '/me/extensions', 'null'],
  ['a number', 'POST', '/me/extensions', '5'],
  ['nothing in it', 'POST', '/me/extensions', {}],
  ['an empty body', 'POST', '/me/extensions', ''],
  ['half of the JSON', 'POST', '/me/extensions', '{"@odata.type":"'],
  ['two keys of one name', 'POST', '/me/extensions', extensionText('"a":1,"a":2')],
  ['a prototype', 'POST', '/me/extensions', extensionText('"__proto__":{"admin":true}')],
  ['a prototype further in', 'POST', '/me/extensions', extensionText('"a":[{"__proto__":1}]')],
  ['deep nesting', 'POST', '/me/extensions', extensionText(`"a":${deep(100)}`)],
  [
    'a body over the limit',
    'POST',
    '/me/messages/{message}/extensions',
    extension({ a: 'x'.repeat(1 << 20) }),
  ],
  ['XML', 'POST', '/me/extensions', '<a/>', { 'content-type': 'application/xml' }],
  [
    'another charset',
    'POST',
    '/me/extensions',
    extension(),
    { 'content-type': 'application/json;charset=utf-16' },
  ],
  ['a form', 'POST', '/me/extensions', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }],
  // its name and type
  ['no name', 'POST', '/me/extensions', { '@odata.type': type }],
  ['no type', 'POST', '/me/extensions', { extensionName: 'x' }],
  ['another type', 'POST', '/me/extensions', extension({ '@odata.type': 'vendor.graph.user' })],
  ['a type that is no string', 'POST', '/me/extensions', extension({ '@odata.type': 1 })],
  ...[
    null,
    5,
    '',
    ' ',
    'a b',
    'a/b',
    'a%2fb',
    "a'b",
    'a"b',
    '../x',
    '.x',
    'é',
    'a\u0000b',
    'a\u202eb',
    'x'.repeat(121),
  ].map(
    (extensionName): Case => [
      `the name ${JSON.stringify(extensionName)?.slice(0, 20)}`,
      'POST',
      '/me/extensions',
      extension({ extensionName }),
    ],
  ),
  ['a qualified name for a name', 'POST', '/me/extensions', extension({ extensionName: `${type}.x` })],
  ["another extension's id", 'POST', '/me/extensions', extension({ id: 'other' })],
  // its data
  ['a property without a name', 'POST', '/me/extensions', extension({ '': 1 })],
  ['a property with NUL in its name', 'POST', '/me/extensions', extension({ 'a\u0000': 1 })],
  ['an annotation that is none', 'POST', '/me/extensions', extension({ 'a@b': 1 })],
  ['a long property name', 'POST', '/me/extensions', extension({ ['x'.repeat(129)]: 1 })],
  ['NUL in a value', 'POST', '/me/extensions', extension({ a: 'x\u0000y' })],
  ['NUL further in', 'POST', '/me/extensions', extension({ a: [{ b: '\u0000' }] })],
  ['half a character', 'POST', '/me/extensions', extensionText('"a":"\\ud800"')],
  ['a number beyond numbers', 'POST', '/me/extensions', extensionText('"a":1e999')],
  ['too many bytes', 'POST', '/me/extensions', extension({ a: 'x'.repeat(2049) })],
  [
    'too many bytes on an item',
    'POST',
    '/me/messages/{message}/extensions',
    extension({ a: 'x'.repeat(65537) }),
  ],
  ['too many properties', 'POST', '/me/messages/{message}/extensions', extension(many(201))],
  // changes
  ['a list for a change', 'PATCH', '/me/messages/{message}/extensions/kept', []],
  ['another name', 'PATCH', '/me/messages/{message}/extensions/kept', { extensionName: 'other' }],
  ['another id', 'PATCH', '/me/messages/{message}/extensions/kept', { id: 'other' }],
  ['a change of type', 'PATCH', '/me/messages/{message}/extensions/kept', { '@odata.type': 'x' }],
  ['a change without a body', 'PATCH', '/me/messages/{message}/extensions/kept'],
  ['a deletion with a body', 'DELETE', '/me/messages/{message}/extensions/kept', {}],
  // methods and paths
  ['PUT of an extension', 'PUT', '/me/messages/{message}/extensions/kept', extension()],
  ['POST to an extension', 'POST', '/me/messages/{message}/extensions/kept', extension()],
  ['deleting all', 'DELETE', '/me/messages/{message}/extensions'],
  ['deleting under nothing', 'DELETE', '/me/messages//extensions/kept'],
  ['a kind without extensions', 'DELETE', '/me/mailFolders/inbox/extensions/kept'],
  ['SQL in an id', 'DELETE', "/me/messages/x' or 1=1 --/extensions/kept"],
  ['SQL in a name', 'DELETE', "/me/messages/{message}/extensions/kept' or '1'='1"],
  ['NUL in an id', 'DELETE', '/me/messages/%00/extensions/kept'],
  ['no UTF-8 in an id', 'DELETE', '/me/messages/%ff%fe/extensions/kept'],
  ['half an escape', 'DELETE', '/me/messages/%E0%A4%A/extensions/kept'],
  ['a way up', 'DELETE', '/me/messages/..%2f..%2fetc/extensions/kept'],
  ['an endless id', 'DELETE', `/me/messages/${'a'.repeat(3000)}/extensions/kept`],
  ['an endless name', 'GET', `/me/messages/{message}/extensions/${'a'.repeat(1900)}`],
  ['a key without quotes', 'DELETE', '/me/messages(abc)/extensions/kept'],
  ['an empty key', 'DELETE', '/me/messages()/extensions/kept'],
  ['an id in braces', 'DELETE', '/me/messages/{{message}}/extensions/kept'],
  ['folders without names', 'GET', '/me/mailFolders/{mailFolder}/childFolders/%2F%2F/messages'],
  ['folders in the wrong order', 'GET', '/me/mailFolders/{childFolder}/childFolders/{mailFolder}/messages'],
  ['a user that is no name', 'GET', '/users/%20/extensions'],
  ['NUL in a user', 'GET', '/users/a%00@example.com/extensions'],
  // query options
  ['an unknown option', 'GET', '/me/extensions?$search=x'],
  ['an option twice', 'GET', "/me/extensions?$filter=id eq 'a'&$filter=id eq 'b'"],
  ['another filter', 'GET', "/me/extensions?$filter=extensionName eq 'x'"],
  ['more than a filter', 'GET', "/me/extensions?$filter=id eq 'x' or 1 eq 1"],
  ['NUL in a filter', 'GET', "/me/extensions?$filter=id eq '%00'"],
  ['expanding something else', 'GET', '/me/messages/{message}?$expand=attachments'],
  ['expanding by another property', 'GET', "/me/messages/{message}?$expand=extensions($filter=name eq 'x')"],
  ['a page of none', 'GET', '/me/messages?$top=0'],
  ['a page from nowhere', 'GET', '/me/messages?$skiptoken=abc'],
  // items
  ['a subject that is a number', 'POST', '/me/messages', { subject: 5 }],
  ['a long subject', 'POST', '/me/messages', { subject: 'x'.repeat(256) }],
  ['NUL in a subject', 'POST', '/me/messages', { subject: '\u0000' }],
  ['a body that is text', 'POST', '/me/messages', { body: 'text' }],
  ['a body of another type', 'POST', '/me/messages', { body: { contentType: 'pdf', content: '' } }],
  ['an unknown property', 'POST', '/me/messages', { nonsense: 1 }],
  ['a property of all objects', 'POST', '/me/messages', { constructor: { x: 1 } }],
  ['an unknown property inside', 'POST', '/me/messages', { from: { emailAddress: { nonsense: 1 } } }],
  ['too many recipients', 'POST', '/me/messages', { toRecipients: recipients(501) }],
  ['an unknown word', 'POST', '/me/messages', { importance: 'urgent' }],
  ['an id of its own', 'POST', '/me/messages', { id: '48d31887-5fad-4d73-a9f5-3c356e68a038' }],
  ['another folder', 'PATCH', '/me/messages/{message}', { parentFolderId: '{mailFolder}' }],
  ['a Boolean in words', 'PATCH', '/me/messages/{message}', { isRead: 'yes' }],
  [
    'no day of the calendar',
    'POST',
    '/me/events',
    { start: { dateTime: '2026-13-40T00:00:00', timeZone: 'UTC' } },
  ],
  ['extensions that are no list', 'POST', '/me/messages', { extensions: {} }],
  ['an extension without a name', 'POST', '/me/messages', { extensions: [{ '@odata.type': type }] }],
  ['one extension twice', 'POST', '/me/messages', { extensions: [extension(), extension()] }],
  ['extensions of a folder', 'POST', '/me/mailFolders', { displayName: 'x', extensions: [extension()] }],
  ['a task without a title', 'POST', '/me/todo/lists/{list}/tasks', {}],
  ['a title of spaces', 'POST', '/me/todo/lists/{list}/tasks', { title: '  ' }],
  ['a thread without posts', 'POST', '/groups/{group}/threads', { topic: 'x' }],
  ['a thread with no post', 'POST', '/groups/{group}/threads', { topic: 'x', posts: [] }],
  ['a post that is text', 'POST', '/groups/{group}/threads', { topic: 'x', posts: ['hello'] }],
  ['too many posts', 'POST', '/groups/{group}/threads', { topic: 'x', posts: Array(21).fill({}) }],
  ['a reply of nothing', 'POST', '/groups/{group}/threads/{thread}/reply', {}],
  ['a reply and more', 'POST', '/groups/{group}/threads/{thread}/reply', { post: {}, more: 1 }],
  ['a post by itself', 'POST', '/groups/{group}/threads/{thread}/posts', {}],
  // definitions
  [
    'a property name with a dash',
    'POST',
    '/applications/{application}/extensionProperties',
    definition({ name: 'a-b' }),
  ],
  [
    'an unknown data type',
    'POST',
    '/applications/{application}/extensionProperties',
    definition({ dataType: 'Text' }),
  ],
  [
    'no targets',
    'POST',
    '/applications/{application}/extensionProperties',
    definition({ targetObjects: [] }),
  ],
  [
    'an unknown target',
    'POST',
    '/applications/{application}/extensionProperties',
    definition({ targetObjects: ['Robot'] }),
  ],
  ["another kind's application", 'POST', '/applications/{group}/extensionProperties', definition({})],
  ['a schema that looks like a property', 'POST', '/schemaExtensions', schema({ id: 'extension_a' })],
  ['a schema name with dots', 'POST', '/schemaExtensions', schema({ id: 'a.b_c' })],
  ['a schema without properties', 'POST', '/schemaExtensions', schema({ properties: [] })],
  [
    'a schema property twice',
    'POST',
    '/schemaExtensions',
    schema({
      properties: [
        { name: 'a', type: 'String' },
        { name: 'A', type: 'String' },
      ],
    }),
  ],
  [
    'a schema of large integers',
    'POST',
    '/schemaExtensions',
    schema({ properties: [{ name: 'a', type: 'LargeInteger' }] }),
  ],
  ['a schema with a status', 'POST', '/schemaExtensions', schema({ status: 'Available' })],
  ['a schema of nobody', 'POST', '/schemaExtensions', schema({ owner: 'me' })],
  ['NUL in the name of a schema', 'GET', '/schemaExtensions/a%00b'],
]

describe('hostile input to extensions, items and definitions', () => {
  let service: TestService
  let ids: ExtensibleResources & { application: string }
  let token: string

  before(async () => {
    service = await startTestService()
    const directory = fillDirectory(service)
    const application = await directory.add('application', { displayName: 'App', appId: crypto.randomUUID() })
    ids = { ...(await addExtensibleResources(service, directory)), application }
    const permissions = [
      'Application.ReadWrite.All',
      'Calendars.ReadWrite',
      'Group.ReadWrite.All',
      'Mail.ReadWrite',
      'Tasks.ReadWrite',
      'User.ReadWrite.All',
    ]
    token = service.tokenFor({ permissions, principal: ids.user })
    const body = { ...extension(), extensionName: 'kept', data: 1 }
    await service.request('POST', `/v1.0/me/messages/${ids.message}/extensions`, { token, body })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const fill = (text: string) =>
    text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
      const id: unknown = Reflect.get(ids, name)
      return typeof id === 'string' ? id : whole
    })

  async function countRows(): Promise<object> {
    const [row] = await service.database.sql`
      select (select count(*) from open_extension) as extensions, (select count(*) from extension_property) as properties,
        (select count(*) from schema_extension) as schemas, (select count(*) from change_log) as changes,
        (select properties from open_extension where name = 'kept') as kept,
        (select count(*) from item where kind not in ('mailFolder', 'calendar', 'calendarGroup', 'contactFolder')) as items`
    return row ?? {}
  }

  test('every case is answered 4xx in the shape of the API, and nothing is changed', async (t) => {
    assert.ok(cases.length >= 100, `${cases.length} cases`)
    const before = await countRows()
    for (const [what, method, path, body, headers] of cases)
      await t.test(what, async () => {
        const sent = typeof body === 'object' ? fill(JSON.stringify(body)) : body
        const answer = await service.request(method, `/v1.0${fill(path)}`, {
          token,
          ...(sent !== undefined && { body: sent }),
          ...(headers && { headers }),
        })
        assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${answer.text}`)
        assert.equal(typeof answer.body?.error?.code, 'string', answer.text)
        assert.equal(typeof answer.body.error.message, 'string')
        assert.equal(answer.body.error.innerError['request-id'], answer.headers.get('request-id'))
        assert.doesNotMatch(answer.text, /select |insert |node_modules|at \w+ \(|SQLSTATE/)
      })
    assert.deepEqual(await countRows(), before)
    assert.equal((await service.request('GET', '/readyz')).status, 200)
    const kept = await service.request('GET', `/v1.0/me/messages/${ids.message}/extensions/kept`, { token })
    assert.equal(kept.body.data, 1)
  })
})
