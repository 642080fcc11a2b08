import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { clause, tableRows } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { addExtensibleResources, type ExtensibleResources, fillPath } from '../../support/extensible.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

const everything = [
  'Directory.AccessAsUser.All',
  'Device.ReadWrite.All',
  'Calendars.ReadWrite',
  'Group.ReadWrite.All',
  'Mail.ReadWrite',
  'Organization.ReadWrite.All',
  'Contacts.ReadWrite',
  'Tasks.ReadWrite',
  'Tasks.ReadWrite.All',
  'User.ReadWrite.All',
]

describe('delete open extension', () => {
  let service: TestService
  let directory: TestDirectory
  let ids: ExtensibleResources
  /** The owner of the mailbox, with every permission. */
  let owner: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    ids = await addExtensibleResources(service, directory)
    owner = service.tokenFor({
      permissions: everything,
      principal: ids.user,
      directoryRoles: globalAdministrator,
    })
  })
  after(() => service?.[Symbol.asyncDispose]())

  /** Hangs an extension on the resource at the path and returns its name. */
  async function hang(path: string, token = owner): Promise<string> {
    const extensionName = `com.example.x${randomUUID().slice(0, 8)}`
    const { status, body } = await service.request('POST', `/v1.0${path}`, {
      token,
      body: { '@odata.type': 'vendor.graph.openTypeExtension', extensionName, colour: 'red' },
    })
    assert.equal(status, 201, JSON.stringify(body))
    return extensionName
  }
  const remove = (path: string, token = owner) => service.request('DELETE', `/v1.0${path}`, { token })

  async function countExtensions(): Promise<number> {
    const [row] = await service.database.sql<
      { count: number }[]
    >`select count(*) as count from open_extension`
    return row?.count ?? 0
  }

  /** Hangs an extension on, takes it off by the path, and sees that it is gone and no other. */
  async function checkDelete(path: string, spell = (name: string) => name): Promise<void> {
    const collection = path.replace(/\/[^/]+$/, '')
    const count = await countExtensions()
    const name = await hang(collection)
    const answer = await remove(path.replace('{extensionId}', spell(name)))
    assert.equal(answer.status, 204, `${path}: ${answer.text}`)
    assert.equal(answer.text, '')
    assert.equal(await countExtensions(), count, path)
    assert.equal((await remove(path.replace('{extensionId}', spell(name)))).status, 404, path)
  }

  const formsOfSpecification = () =>
    tableRows('DIR-39').map(({ Path = '', Resource = '' }) =>
      fillPath(Path.replaceAll('`', ''), Resource, ids),
    )

  clause(
    'DIR-39',
    'An open extension is deleted by DELETE on the path of the resource instance followed by its `extensions` and the extension; these paths lead to the resource of the permission table next to them:',
    async () => {
      assert.equal(tableRows('DIR-39').length, 15)
      for (const path of formsOfSpecification()) await checkDelete(path)
    },
  )

  clause(
    'DIR-42',
    '`extensionId` is a required string in the path, the name or the fully qualified name of the extension, and both delete the same extension.',
    async () => {
      for (const path of formsOfSpecification()) {
        await checkDelete(path, (name) => `vendor.graph.openTypeExtension.${name}`)
        await checkDelete(path, (name) => `microsoft.graph.openTypeExtension.${name.toUpperCase()}`)
      }
      assert.equal((await remove(`/users/${ids.user}/extensions`)).status, 405)
    },
  )

  clause(
    'DIR-40',
    'Another way of writing the path to one of these resource instances deletes its open extensions just the same.',
    async () => {
      const forms = formsOfSpecification()
      const byName = forms.map((path) =>
        path.replace(`/users/${ids.user}/`, `/users/${ids.userPrincipalName}/`),
      )
      const byMe = forms.map((path) => path.replace(`/users/${ids.user}/`, '/me/'))
      const byUser = forms.map((path) => path.replace(/^\/me\//, `/users/${ids.user}/`))
      const quoted = forms.map((path) => path.replace(/\/([^/]{36})(?=\/)/g, "('$1')"))
      const encoded = forms.map((path) => path.replace(/\/([^/]{36})(?=\/)/g, '(%27$1%27)'))
      const unquoted = forms.map((path) => path.replace(/\/([^/]{36})(?=\/)/g, '($1)'))
      const upper = forms.map((path) => path.replace(/[0-9a-f-]{36}/g, (id) => id.toUpperCase()))
      const cased = forms.map((path) => path.replace('/extensions/', '/Extensions/'))
      const others = [byName, byMe, byUser, quoted, encoded, unquoted, upper, cased]
      for (const path of new Set(others.flat())) await checkDelete(path)
      for (const path of forms) await checkDelete(path, (name) => `${name}/`)
    },
  )
})
