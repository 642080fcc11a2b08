import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

const permissions = [
  'Calendars.ReadWrite',
  'Contacts.ReadWrite',
  'Group.ReadWrite.All',
  'Mail.ReadWrite',
  'Tasks.ReadWrite',
]

/** Collections below a mailbox, with what is created there, changed, and what then stands in the answer. */
const inMailbox: Record<string, { create: object; change: object }> = {
  '/messages': {
    create: {
      subject: 'Budget',
      body: { contentType: 'HTML', content: '<b>All</b> is well' },
      from: { emailAddress: { name: 'Ada', address: 'ada@example.com' } },
      toRecipients: [{ emailAddress: { address: 'bo@example.com' } }],
      importance: 'high',
      receivedDateTime: '2026-11-15T10:00:00Z',
    },
    change: { isRead: true, subject: 'Budget 2' },
  },
  '/mailFolders': { create: { displayName: 'Travel' }, change: { displayName: 'Journeys' } },
  '/mailFolders/inbox/messages': { create: { subject: 'In' }, change: { importance: 'low' } },
  '/mailFolders/Archive/childFolders': { create: { displayName: 'Old' }, change: { displayName: 'Older' } },
  '/events': {
    create: {
      subject: 'Lunch',
      start: { dateTime: '2026-11-15T12:00:00', timeZone: 'UTC' },
      end: { dateTime: '2026-11-15T13:00:00', timeZone: 'UTC' },
      location: { displayName: 'Canteen' },
      attendees: [{ type: 'required', emailAddress: { name: 'Bo', address: 'bo@example.com' } }],
    },
    change: { subject: 'Late lunch', location: null },
  },
  '/calendar/events': { create: { subject: 'Tea' }, change: { isAllDay: true } },
  '/calendars': { create: { name: 'Work' }, change: { color: 'lightBlue' } },
  '/calendarGroups': { create: { name: 'Shared' }, change: { name: 'Shared with me' } },
  '/calendarGroup/calendars/calendar/events': { create: { subject: 'Walk' }, change: { subject: 'Run' } },
  '/contacts': {
    create: {
      givenName: 'Cleo',
      surname: 'Day',
      displayName: 'Cleo Day',
      emailAddresses: [{ name: 'Cleo', address: 'cleo@example.com' }],
      businessPhones: ['+44 1'],
    },
    change: { jobTitle: 'Pilot' },
  },
  '/contactFolders': { create: { displayName: 'Friends' }, change: { displayName: 'Family' } },
  '/contactFolders/contacts/contacts': { create: { givenName: 'Dan' }, change: { surname: 'Eve' } },
  '/todo/lists': { create: { displayName: 'Chores' }, change: { displayName: 'Chores at home' } },
  '/todo/lists/tasks/tasks': {
    create: { title: 'Wash up', dueDateTime: { dateTime: '2026-11-16T08:00:00', timeZone: 'UTC' } },
    change: { status: 'completed', importance: 'high' },
  },
}

describe('items', () => {
  let service: TestService
  let directory: TestDirectory
  let user: string
  let group: string
  let token: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    user = await directory.user()
    group = await directory.unifiedGroup()
    token = service.tokenFor({ permissions, principal: user, directoryRoles: globalAdministrator })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = (method: string, path: string, body?: unknown, as = token) =>
    service.request(method, `/v1.0${path}`, { token: as, ...(body !== undefined && { body }) })

  /** Creates, reads, lists, changes and deletes one item. */
  async function checkLife(collection: string, { create, change }: { create: object; change: object }) {
    const made = await call('POST', collection, create)
    assert.equal(made.status, 201, `${collection}: ${made.text}`)
    assert.partialDeepStrictEqual(made.body, create)
    const path = `${collection}/${made.body.id}`
    assert.ok(made.headers.get('location')?.endsWith(`/${made.body.id}`))
    const read = await call('GET', path)
    assert.deepEqual(read.body, made.body)
    const list = await call('GET', collection)
    const { '@odata.context': _context, ...entity } = made.body
    assert.deepEqual(
      list.body.value.find((item: { id: string }) => item.id === made.body.id),
      entity,
    )
    const changed = await call('PATCH', path, change)
    assert.equal(changed.status, 200, `${path}: ${changed.text}`)
    assert.partialDeepStrictEqual(changed.body, change)
    assert.partialDeepStrictEqual(changed.body, { ...create, ...change })
    assert.equal((await call('DELETE', path)).status, 204)
    assert.equal((await call('GET', path)).status, 404)
  }

  clause(
    'DIR-135',
    'The containers of extensions (events, messages, contacts, threads with posts, todo lists with tasks) can be created, read, updated, deleted and listed, with the least that extensions need.',
    async () => {
      for (const [collection, bodies] of Object.entries(inMailbox)) {
        await checkLife(`/me${collection}`, bodies)
        await checkLife(`/users/${user}${collection}`, bodies)
      }
      await checkLife(`/groups/${group}/events`, {
        create: { subject: 'All hands' },
        change: { subject: 'X' },
      })
      const thread = await call('POST', `/groups/${group}/threads`, {
        topic: 'Cake',
        posts: [{ body: { contentType: 'text', content: 'There is cake.' } }],
      })
      assert.equal(thread.status, 201, thread.text)
      const path = `/groups/${group}/threads/${thread.body.id}`
      const answered = await call('POST', `${path}/reply`, {
        post: { body: { contentType: 'text', content: 'Where?' } },
      })
      assert.equal(answered.status, 202, answered.text)
      const posts = await call('GET', `${path}/posts`)
      assert.deepEqual(
        posts.body.value.map((post: { body: { content: string } }) => post.body.content).sort(),
        ['There is cake.', 'Where?'],
      )
      const [post] = posts.body.value
      assert.equal((await call('PATCH', `${path}/posts/${post.id}`, { categories: ['food'] })).status, 200)
      assert.equal((await call('GET', `${path}/posts/${post.id}`)).body.categories[0], 'food')
      assert.equal((await call('PATCH', path, { isLocked: true })).body.isLocked, true)
      assert.equal((await call('POST', `${path}/reply`, { post: {} })).status, 403)
      assert.equal((await call('DELETE', `${path}/posts/${post.id}`)).status, 204)
      assert.equal((await call('DELETE', path)).status, 204)
      assert.equal((await call('GET', `${path}/posts`)).status, 404)
    },
  )

  test('a conversation brings its threads and they their posts, or nothing is made at all', async () => {
    const made = await call('POST', `/groups/${group}/conversations`, {
      topic: 'Plans',
      threads: [
        { posts: [{ body: { contentType: 'text', content: 'One' } }] },
        { topic: 'Two', posts: [{}] },
      ],
    })
    assert.equal(made.status, 201, made.text)
    const threads = await call('GET', `/groups/${group}/conversations/${made.body.id}/threads`)
    assert.deepEqual(threads.body.value.map((thread: { topic: string }) => thread.topic).sort(), [
      'Plans',
      'Two',
    ])
    const count = async () =>
      (await call('GET', `/groups/${group}/conversations?$count=true`)).body['@odata.count']
    const before = await count()
    const refused = await call('POST', `/groups/${group}/conversations`, {
      topic: 'Broken',
      threads: [{ posts: [{}] }, { posts: [{ nonsense: 1 }] }],
    })
    assert.equal(refused.status, 400)
    assert.equal(await count(), before)
  })

  test('a mailbox has its folders, calendar and lists from the beginning, by name and by id', async () => {
    const folders = (await call('GET', '/me/mailFolders')).body.value
    const names = folders.map((folder: { displayName: string }) => folder.displayName)
    for (const name of ['Inbox', 'Drafts', 'Sent Items', 'Deleted Items'])
      assert.ok(names.includes(name), name)
    const inbox = (await call('GET', '/me/mailFolders/inbox')).body
    assert.equal(inbox.displayName, 'Inbox')
    assert.equal((await call('GET', `/me/mailFolders/${inbox.id}`)).body.id, inbox.id)
    assert.equal(
      (await call('DELETE', '/me/mailFolders/inbox')).body.error.code,
      'ErrorDeleteDistinguishedFolder',
    )
    const draft = (await call('POST', '/me/messages', { subject: 'Where does it go?' })).body
    assert.equal(draft.parentFolderId, (await call('GET', '/me/mailFolders/drafts')).body.id)
    assert.equal((await call('GET', '/me/calendar')).body.isDefaultCalendar, true)
    assert.equal((await call('GET', '/me/todo/lists')).body.value[0].wellknownListName, 'defaultList')
    const event = (await call('POST', '/me/events', { subject: 'Default' })).body
    assert.equal((await call('GET', `/me/calendar/events/${event.id}`)).status, 200)
    const other = (await call('POST', '/me/calendars', { name: 'Other' })).body
    assert.equal((await call('GET', `/me/calendars/${other.id}/events/${event.id}`)).status, 404)
  })

  test('two who ask for a fresh mailbox at once get the same folders', async () => {
    const fresh = service.tokenFor({ permissions, principal: await directory.user() })
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => call('GET', '/me/mailFolders', undefined, fresh)),
    )
    for (const answer of answers) assert.deepEqual(answer.body.value, answers[0]?.body.value)
  })

  test('folders nest to any depth, and a path must name them in their order', async () => {
    const add = async (path: string, displayName: string): Promise<string> =>
      (await call('POST', path, { displayName })).body.id
    const a = await add('/me/mailFolders', 'a')
    const b = await add(`/me/mailFolders/${a}/childFolders`, 'b')
    const c = await add(`/me/mailFolders/${a}/childFolders/${b}/childFolders`, 'c')
    const d = await add(`/me/mailFolders/${a}/childFolders/${b}/childFolders/${c}/childFolders`, 'd')
    const deepest = `/me/mailFolders/${a}/childFolders/${b}/childFolders/${c}/childFolders/${d}`
    assert.equal((await call('GET', deepest)).body.displayName, 'd')
    const { id } = (await call('POST', `${deepest}/messages`, { subject: 'deep' })).body
    assert.equal((await call('GET', `${deepest}/messages/${id}`)).body.subject, 'deep')
    assert.equal((await call('GET', `/me/mailFolders/${a}/childFolders/${c}/messages/${id}`)).status, 404)
    assert.equal((await call('DELETE', `/me/mailFolders/${a}`)).status, 204)
    assert.equal((await call('GET', `/me/messages/${id}`)).status, 404)
  })

  clause(
    'DIR-140',
    'A list has pages of 100 items by default and 999 at most, and `@odata.nextLink` leads to the next one.',
    async () => {
      const list = (await call('POST', '/me/todo/lists', { displayName: 'Long' })).body.id
      const tasks = `/me/todo/lists/${list}/tasks`
      for (let at = 0; at < 105; at++) await call('POST', tasks, { title: `task ${at}` })
      const first = (await call('GET', tasks)).body
      assert.equal(first.value.length, 100)
      const second = await service.request('GET', first['@odata.nextLink'], { token })
      assert.equal(second.body.value.length, 5)
      assert.equal(second.body['@odata.nextLink'], undefined)
      assert.equal((await call('GET', `${tasks}?$top=999`)).body.value.length, 105)
      assert.equal((await call('GET', `${tasks}?$top=1000`)).status, 400)
      const titles = new Set([...first.value, ...second.body.value].map(({ title }) => title))
      assert.equal(titles.size, 105)
    },
  )

  test('lists take $select, $filter, $orderby, $count and $expand, and refuse what they do not know', async () => {
    const list = (await call('POST', '/me/todo/lists', { displayName: 'Short' })).body.id
    const tasks = `/me/todo/lists/${list}/tasks`
    for (const title of ['b', 'a', 'c']) await call('POST', tasks, { title })
    const sorted = (await call('GET', `${tasks}?$select=title&$orderby=title desc&$count=true&$top=2`)).body
    assert.equal(sorted['@odata.count'], 3)
    assert.deepEqual(
      sorted.value.map(({ '@odata.etag': _tag, ...task }: Record<string, string>) => task),
      [{ title: 'c' }, { title: 'b' }],
    )
    const filtered = await call('GET', `${tasks}?$filter=title eq 'a'&$expand=extensions`)
    assert.equal(filtered.body.value.length, 1, filtered.text)
    assert.deepEqual(filtered.body.value[0].extensions, [])
    for (const query of ['$expand=attachments', '$select=nonsense', '$filter=x eq 1', '$search=a', '$skip=1'])
      assert.equal((await call('GET', `${tasks}?${query}`)).status, 400, query)
    assert.equal((await call('GET', '/me/mailFolders?$expand=extensions')).status, 400)
  })

  test('a list finds the items that hold an extension, and shows it', async () => {
    const extensionName = 'com.example.referral'
    const body = { '@odata.type': '#microsoft.graph.openTypeExtension', extensionName, deal: 5 }
    const made = await call('POST', '/me/messages', { subject: 'With', extensions: [body] })
    assert.equal(made.body.extensions[0].id, `vendor.graph.openTypeExtension.${extensionName}`, made.text)
    await call('POST', '/me/messages', { subject: 'Without' })
    for (const id of [extensionName, `vendor.graph.openTypeExtension.${extensionName}`]) {
      const query = `$filter=Extensions/any(f:f/id eq '${id}')&$expand=Extensions($filter=id eq '${id}')&$count=true`
      const found = await call('GET', `/me/messages?${query}`)
      assert.equal(found.body['@odata.count'], 1, found.text)
      assert.equal(found.body.value[0].subject, 'With')
      assert.equal(found.body.value[0].extensions[0].deal, 5)
    }
    assert.equal((await call('GET', "/me/messages?$filter=Extensions/any(f:g/id eq 'x')")).status, 400)
  })

  test('an entity tag guards against writing over what another has changed', async () => {
    const { id, '@odata.etag': tag } = (await call('POST', '/me/messages', { subject: 'one' })).body
    const change = (ifMatch: string) =>
      service.request('PATCH', `/v1.0/me/messages/${id}`, {
        token,
        body: { subject: 'two' },
        headers: { 'if-match': ifMatch },
      })
    assert.equal((await change(tag)).status, 200)
    assert.equal((await change(tag)).status, 412)
  })

  test('an item is found in its own mailbox alone', async () => {
    const { id } = (await call('POST', '/me/messages', { subject: 'mine' })).body
    const app = service.tokenFor({ permissions: ['Mail.ReadWrite'], kind: 'application' })
    const other = await directory.user()
    assert.equal((await call('GET', `/users/${user}/messages/${id}`, undefined, app)).status, 200)
    assert.equal((await call('GET', `/users/${other}/messages/${id}`, undefined, app)).status, 404)
    const stranger = await call('GET', `/users/${other}/messages/${id}`)
    assert.equal(stranger.status, 403)
    assert.equal(stranger.body.error.code, 'ErrorAccessDenied')
    assert.deepEqual((await call('GET', `/users/${randomUUID()}/messages/${id}`)).status, 403)
  })

  test('every write of an item is in the change log and the audit', async () => {
    const { id } = (await call('POST', '/me/messages', { subject: 'logged' })).body
    await call('PATCH', `/me/messages/${id}`, { isRead: true })
    await call('DELETE', `/me/messages/${id}`)
    const { sql } = service.database
    const changes = await sql<{ kind: string }[]>`
      select kind from change_log where entity = 'message' and entity_id = ${id} order by revision`
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['created', 'updated', 'deleted'],
    )
    const entries = await sql<{ action: string }[]>`
      select action from audit_event where target = ${`/users/${user}/messages/${id}`} order by id`
    assert.deepEqual(
      entries.map(({ action }) => action),
      ['create message', 'update message', 'delete message'],
    )
  })
})
