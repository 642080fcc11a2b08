import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type Address, addresses } from '../../../src/directory/addresses/addresses.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { addExtensibleResources, type ExtensibleResources } from '../../support/extensible.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

/** The least that a person needs for each resource: to read its extensions, and to change them. */
const least: Record<string, readonly [read: string, write: string]> = {
  device: ['Directory.Read.All', 'Directory.AccessAsUser.All'],
  event: ['Calendars.Read', 'Calendars.ReadWrite'],
  group: ['Group.Read.All', 'Group.ReadWrite.All'],
  'group event': ['Group.Read.All', 'Group.ReadWrite.All'],
  'group post': ['Group.Read.All', 'Group.ReadWrite.All'],
  message: ['Mail.Read', 'Mail.ReadWrite'],
  organization: ['Organization.Read.All', 'Organization.ReadWrite.All'],
  'personal contact': ['Contacts.Read', 'Contacts.ReadWrite'],
  todoTask: ['Tasks.Read', 'Tasks.ReadWrite'],
  todoTasklist: ['Tasks.Read', 'Tasks.ReadWrite'],
  user: ['User.Read', 'User.ReadWrite'],
}
const extension = { '@odata.type': 'vendor.graph.openTypeExtension', extensionName: 'com.example.reach' }

describe('who reaches which extensions', () => {
  let service: TestService
  let directory: TestDirectory
  let ids: ExtensibleResources

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    ids = await addExtensibleResources(service, directory)
  })
  after(() => service?.[Symbol.asyncDispose]())

  const tokenOf = (permissions: readonly string[], principal = ids.user) =>
    service.tokenFor({ permissions, principal, directoryRoles: globalAdministrator })
  const send = (method: string, path: string, token: string, body?: unknown) =>
    service.request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })

  /** Every path of an address with the keys of real resources in it. */
  function fill(noun: string, { paths }: Address): string[] {
    const keys: Record<string, string> = {
      ...Object.fromEntries(Object.entries(ids).filter((entry) => typeof entry[1] === 'string')),
      ...(noun === 'GroupEvent' && { event: ids.groupEvent }),
    }
    return paths.map((path) =>
      path.replaceAll(/:(\w+)/g, (_whole, key: string) => {
        if (key === 'childFolders')
          return path.includes('contactFolders')
            ? ids.childContactFolder
            : `${ids.childFolder}/childFolders/${ids.grandchildFolder}`
        return keys[key] ?? assert.fail(key)
      }),
    )
  }

  /** Where each path must lead for it to name what lies there. */
  async function place(noun: string, path: string): Promise<void> {
    const { sql } = service.database
    const move = (item: string, parent: string | null) =>
      sql`update item set parent_id = ${parent} where id = ${item}`
    if (noun === 'Message')
      await move(ids.message, path.includes('childFolders') ? ids.grandchildFolder : ids.mailFolder)
    if (noun === 'PersonalContact')
      await move(ids.contact, path.includes('childFolders') ? ids.childContactFolder : ids.contactFolder)
    if (noun === 'DefaultCalendarEvent') {
      const { body } = await send('GET', '/me/calendar', tokenOf(['Calendars.Read']))
      await move(ids.event, body.id)
    }
    if (noun === 'DefaultCalendarGroupEvent') {
      await move(ids.event, ids.calendar)
      const { body } = await send('GET', '/me/calendarGroups', tokenOf(['Calendars.Read']))
      const group = body.value.find(({ name }: { name: string }) => name === 'My Calendars')
      await move(ids.calendar, group.id)
    }
  }

  clause(
    'DIR-129',
    'Every nested path that leads to a supported resource works for extensions: through `/me`, mail folders, calendars, contact folders and conversations as well.',
    async () => {
      let walked = 0
      for (const [noun, address] of Object.entries<Address>(addresses).filter(
        ([, { extensible }]) => extensible,
      )) {
        const [read = '', write = ''] = least[address.row] ?? []
        const [reader, writer, stranger] = [tokenOf([read]), tokenOf([write]), tokenOf(['Sites.Read.All'])]
        for (const path of fill(noun, address)) {
          walked++
          await place(noun, path)
          const [all, one] = [`${path}/extensions`, `${path}/extensions/${extension.extensionName}`]
          for (const token of [reader, stranger])
            assert.equal((await send('POST', all, token, extension)).status, 403, all)
          const made = await send('POST', all, writer, extension)
          assert.equal(made.status, 201, `${path} ${made.text}`)
          assert.equal((await send('GET', all, reader)).body.value.length, 1, all)
          assert.equal((await send('GET', one, reader)).status, 200, one)
          for (const get of [all, one]) assert.equal((await send('GET', get, stranger)).status, 403, get)
          for (const token of [reader, stranger]) {
            assert.equal((await send('PATCH', one, token, {})).status, 403, one)
            assert.equal((await send('DELETE', one, token)).status, 403, one)
          }
          assert.ok([200, 204].includes((await send('PATCH', one, writer, { x: 1 })).status), one)
          assert.equal((await send('DELETE', one, writer)).status, 204, one)
        }
      }
      assert.ok(walked >= 35, `${walked} paths`)
    },
  )

  test('a person reaches their own mailbox and tasks only, an application all', async () => {
    const [other, granted] = [await directory.user(), ['Mail.ReadWrite', 'Tasks.ReadWrite']]
    const person = tokenOf(granted, other)
    const paths = [
      `/users/${ids.user}/messages/${ids.message}/extensions`,
      `/users/${ids.userPrincipalName}/todo/lists/${ids.list}/extensions`,
      `/users/${randomUUID()}/messages/${ids.message}/extensions`,
      `/users/nobody@example.com/messages/${ids.message}/extensions`,
    ]
    for (const path of paths) {
      const answer = await send('GET', path, person)
      assert.equal(answer.status, 403, path)
      assert.equal(answer.body.error.code, 'ErrorAccessDenied')
    }
    const app = service.tokenFor({
      kind: 'application',
      permissions: ['Mail.ReadWrite', 'Tasks.ReadWrite.All'],
    })
    assert.equal((await send('GET', paths[0] ?? '', app)).status, 200)
    assert.equal((await send('GET', paths[1] ?? '', app)).status, 200)
    assert.equal((await send('GET', paths[2] ?? '', app)).status, 404)
    assert.equal(
      (await send('GET', `/users/${ids.user}/messages/${ids.message}`, tokenOf(['Mail.Read']))).status,
      200,
    )
  })

  test("another user's extensions need the permission for all users", async () => {
    const person = await directory.user()
    const others = [ids.user, ids.userPrincipalName, randomUUID(), 'nobody@example.com']
    for (const other of others) {
      const path = `/users/${other}/extensions`
      assert.equal((await send('POST', path, tokenOf(['User.ReadWrite'], person), extension)).status, 403)
      assert.equal((await send('GET', path, tokenOf(['User.Read'], person))).status, 403)
      assert.equal(
        (await send('DELETE', `${path}/x`, tokenOf(['User.ReadWrite', 'User.Read.All'], person))).status,
        403,
      )
    }
    const administrator = tokenOf(['User.ReadWrite.All'], person)
    assert.equal((await send('POST', `/users/${ids.user}/extensions`, administrator, extension)).status, 201)
    const basic = tokenOf(['User.ReadBasic.All'], person)
    assert.equal((await send('GET', `/users/${ids.user}`, basic)).status, 200)
    assert.equal((await send('GET', `/users/${ids.user}?$expand=extensions`, basic)).status, 403)
    assert.equal((await send('GET', '/users?$expand=extensions', basic)).status, 403)
    const all = await send('GET', `/users/${ids.user}?$expand=extensions`, administrator)
    assert.equal(all.body.extensions[0].extensionName, extension.extensionName)
    assert.equal(
      (await send('DELETE', `/users/${ids.user}/extensions/com.example.reach`, administrator)).status,
      204,
    )
  })

  test('a personal account reaches its own mailbox and user, and nothing of the organization', async () => {
    const personal = (permissions: string[]) =>
      service.tokenFor({ permissions, principal: ids.user, personal: true })
    const permissions = ['Mail.ReadWrite', 'User.ReadWrite', 'User.ReadWrite.All', 'Group.ReadWrite.All']
    const statusOf = async (path: string) =>
      (await send('GET', `${path}/extensions`, personal(permissions))).status
    assert.equal(await statusOf('/me'), 200)
    assert.equal(await statusOf(`/me/messages/${ids.message}`), 200)
    assert.equal(await statusOf(`/users/${await directory.user()}`), 403)
    assert.equal(await statusOf(`/groups/${ids.group}`), 403)
    assert.equal(await statusOf(`/groups/${ids.group}/threads/${ids.thread}/posts/${ids.post}`), 403)
  })

  test('an application is refused under /me before anything else', async () => {
    const app = service.tokenFor({
      kind: 'application',
      permissions: ['Mail.ReadWrite', 'User.ReadWrite.All'],
    })
    for (const path of ['/me', `/me/messages/${ids.message}`, '/me/todo/lists/tasks', '/users/me'])
      for (const token of [app, service.tokenFor({ kind: 'application' })]) {
        const answer = await send('DELETE', `${path}/extensions/x`, token)
        const isDenied = path === '/users/me' && token !== app
        assert.equal(answer.status, isDenied ? 403 : 400, path)
        if (!isDenied)
          assert.equal(
            answer.body.error.message,
            '/me request is only valid with delegated authentication flow.',
          )
      }
  })

  test('a deleted owner takes mailbox and extensions out of reach', async () => {
    const gone = await directory.user()
    const message = await ids.addItem('message', gone)
    const app = service.tokenFor({
      kind: 'application',
      permissions: ['Mail.ReadWrite', 'User.ReadWrite.All'],
    })
    assert.equal((await send('GET', `/users/${gone}/messages/${message}/extensions`, app)).status, 200)
    await directory.softDelete(gone)
    assert.equal((await send('GET', `/users/${gone}/messages/${message}/extensions`, app)).status, 404)
    assert.equal((await send('GET', `/users/${gone}/extensions`, app)).status, 404)
  })
})
