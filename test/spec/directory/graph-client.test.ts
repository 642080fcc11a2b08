import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { fillDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

/** A program as a user of the official client would write it; only the address and the token are ours. */
const program = `
  const { Client, PageIterator } = require('@microsoft/microsoft-graph-client')
  const baseUrl = process.env.ORIGIN + '/'
  const client = Client.initWithMiddleware({
    authProvider: { getAccessToken: async () => process.env.TOKEN },
    baseUrl,
    customHosts: new Set(['localhost']),
  })
  const objectUrl = (id) => process.env.ORIGIN + '/v1.0/directoryObjects/' + id
  const newUser = (name) => client.api('/users').post({
    accountEnabled: true, displayName: name, mailNickname: name, userPrincipalName: name + '@example.com',
    passwordProfile: { password: 'a long-winded Phrase 42', forceChangePasswordNextSignIn: true },
  })
  const newGroup = (name, more) => client.api('/groups').post({
    displayName: name, mailEnabled: false, mailNickname: name, securityEnabled: true, ...more,
  })
  const caught = (promise) => promise.then(
    () => 'no error',
    (error) => ({ status: error.statusCode, code: error.code, message: error.message, requestId: error.requestId }),
  )
  const main = async () => {
    const seen = {}
    const users = []
    for (const name of ['ann', 'ben', 'cas', 'dot', 'eli']) users.push(await newUser(name))
    const outer = await newGroup('outer', { groupTypes: ['Unified'], mailEnabled: true, securityEnabled: false })
    const inner = await newGroup('inner')

    // add one member, add several, get member groups
    seen.addOne = await client.api('/groups/' + outer.id + '/members/$ref').post({ '@odata.id': objectUrl(inner.id) })
    seen.addMany = await client.api('/groups/' + inner.id)
      .patch({ 'members@odata.bind': users.slice(0, 4).map(({ id }) => objectUrl(id)) })
    const ask = async (path, securityEnabledOnly) =>
      (await client.api(path + '/getMemberGroups').post({ securityEnabledOnly })).value
    seen.groups = await ask('/users/' + users[0].id, false)
    seen.groupsByName = await ask('/users/ben@example.com', false)
    seen.securityGroups = await ask('/users/' + users[0].id, true)
    seen.groupsOfObject = await ask('/directoryObjects/' + inner.id, false)
    seen.myGroups = await ask('/me', false)
    seen.twice = await caught(client.api('/groups/' + outer.id + '/members/$ref').post({ '@odata.id': objectUrl(inner.id) }))
    seen.missing = await caught(client.api('/groups/' + process.env.NOBODY).get())

    // update group: ordinary, and one of the properties that stand alone
    seen.update = await client.api('/groups/' + inner.id).patch({ description: 'changed', displayName: 'Inner' })
    seen.alone = await client.api('/groups/' + outer.id).patch({ allowExternalSenders: true })
    seen.together = await caught(client.api('/groups/' + outer.id).patch({ unseenCount: 1, description: 'x' }))
    seen.inner = await client.api('/groups/' + inner.id).select(['displayName', 'description']).get()

    // open extensions
    const extension = { '@odata.type': 'microsoft.graph.openTypeExtension', extensionName: 'com.example.x', theme: 'dark' }
    seen.extension = await client.api('/users/' + users[0].id + '/extensions').post(extension)
    await client.api('/me/extensions').post(extension)
    await client.api('/groups/' + inner.id + '/extensions').post(extension)
    seen.expanded = await client.api('/users/' + users[0].id).select('id').expand('extensions').get()
    seen.deleted = await client.api('/users/' + users[0].id + '/extensions/com.example.x').delete()
    await client.api('/me/extensions/' + seen.extension.id).delete()
    await client.api('/groups/' + inner.id + '/extensions/com.example.x').delete()
    seen.gone = await caught(client.api('/users/' + users[0].id + '/extensions/com.example.x').get())

    // lists and paging
    const collect = async (request) => {
      const names = []
      const page = await request.get()
      const iterator = new PageIterator(client, page, (item) => { names.push(item.displayName); return true })
      await iterator.iterate()
      return names
    }
    seen.paged = await collect(client.api('/users').filter("startswith(displayName,'') and mailNickname ne null")
      .select('displayName').orderby('displayName desc').top(2))
    seen.members = await collect(client.api('/groups/' + inner.id + '/members').select('displayName').top(3))
    seen.count = await client.api('/groups/' + inner.id + '/members/$count').header('ConsistencyLevel', 'eventual').get()
    const counted = await client.api('/users').count(true).top(1).header('ConsistencyLevel', 'eventual').get()
    seen.counted = [counted['@odata.count'], counted.value.length]
    seen.searched = await collect(client.api('/users').search('"displayName:an"').header('ConsistencyLevel', 'eventual'))
    seen.refused = await caught(client.api('/users').skip(1).get())

    seen.me = await client.api('/me').get()
    await client.api('/groups/' + inner.id + '/members/' + users[0].id + '/$ref').delete()
    seen.left = (await client.api('/groups/' + inner.id + '/members').get()).value.map(({ displayName }) => displayName)
    await client.api('/users/' + users[4].id).delete()
    seen.restored = await client.api('/directory/deletedItems/' + users[4].id + '/restore').post({})
    seen.ids = { outer: outer.id, inner: inner.id, user: users[0].id }
    console.log(JSON.stringify(seen))
  }
  main().catch((error) => { console.error(error); process.exit(1) })`

/** The base URL whose answers have the types that clients of the original know. */
const typedProgram = `
  const { Client } = require('@microsoft/microsoft-graph-client')
  const client = Client.initWithMiddleware({
    authProvider: { getAccessToken: async () => process.env.TOKEN },
    baseUrl: process.env.ORIGIN + '/microsoft.graph/',
    customHosts: new Set(['localhost']),
  })
  const main = async () => {
    const group = await client.api('/groups').post({
      displayName: 'typed', mailEnabled: false, mailNickname: 'typed', securityEnabled: true,
    })
    const me = process.env.ORIGIN + '/microsoft.graph/v1.0/directoryObjects/' + process.env.ME
    await client.api('/groups/' + group.id + '/members/$ref').post({ '@odata.id': me })
    const list = async (cast) => (await client.api('/groups/' + group.id + '/members' + cast).get()).value
    const types = (await list('')).map((member) => member['@odata.type'])
    const casts = []
    for (const name of ['microsoft.graph', 'vendor.graph', 'graph']) casts.push((await list('/' + name + '.user')).length)
    casts.push((await list('/microsoft.graph.group')).length)
    console.log(JSON.stringify({ types, casts, context: group['@odata.context'] }))
  }
  main().catch((error) => { console.error(error); process.exit(1) })`

/** Plain HTTP, where the client keeps the token to itself unless a middleware of the user adds it. */
const plainProgram = `
  const { Client, HTTPMessageHandler, PageIterator } = require('@microsoft/microsoft-graph-client')
  const http = new HTTPMessageHandler()
  const authorize = {
    execute: async (context) => {
      context.options.headers = { ...context.options.headers, Authorization: 'Bearer ' + process.env.TOKEN }
      await http.execute(context)
    },
  }
  const client = Client.initWithMiddleware({ middleware: authorize, baseUrl: process.env.ORIGIN + '/' })
  const main = async () => {
    const names = []
    const page = await client.api('/contacts').select('displayName').orderby('displayName').top(2).get()
    const iterator = new PageIterator(client, page, (item) => { names.push(item.displayName); return true })
    await iterator.iterate()
    console.log(JSON.stringify(names))
  }
  main().catch((error) => { console.error(error); process.exit(1) })`

describe('the official Graph client, unchanged', () => {
  let service: TestService
  let me: string
  let environment: Record<string, string>

  before(async () => {
    service = await startTestService()
    const directory = fillDirectory(service)
    me = await directory.user('zoe')
    for (const displayName of ['a', 'b', 'c', 'd', 'e']) await directory.add('orgContact', { displayName })
    const ca = join(service.dataDir, 'client-ca.pem')
    await writeFile(ca, service.listeners.ca ?? '')
    const TOKEN = service.tokenFor({
      principal: me,
      permissions: Object.keys(knownPermissions),
      directoryRoles: globalAdministrator,
    })
    await service.tokens.settled()
    environment = {
      PATH: process.env.PATH ?? '',
      NODE_EXTRA_CA_CERTS: ca,
      TOKEN,
      ME: me,
      NOBODY: '00000000-0000-4000-8000-000000000000',
    }
  })
  after(() => service?.[Symbol.asyncDispose]())

  async function run(source: string, origin: string) {
    const child = spawn(process.execPath, ['-e', source], {
      env: { ...environment, ORIGIN: origin },
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [output, complaint] = ['', '']
    child.stdout.on('data', (text) => {
      output += text
    })
    child.stderr.on('data', (text) => {
      complaint += text
    })
    const [code] = await once(child, 'close')
    assert.equal(code, 0, complaint)
    return JSON.parse(output)
  }

  test('runs the operations of the specification over HTTPS with our CA', async () => {
    const seen = await run(program, service.httpsOrigin)
    const { outer, inner, user } = seen.ids
    assert.deepEqual(seen.groups.toSorted(), [outer, inner].toSorted())
    assert.deepEqual(seen.groupsByName.toSorted(), [outer, inner].toSorted())
    assert.deepEqual(seen.securityGroups, [inner])
    assert.deepEqual(seen.groupsOfObject, [outer])
    assert.deepEqual(seen.myGroups, [])
    const { requestId, ...twice } = seen.twice
    assert.match(requestId, /^[0-9a-f-]{36}$/)
    assert.deepEqual(twice, {
      status: 400,
      code: 'Request_BadRequest',
      message:
        "One or more added object references already exist for the following modified properties: 'members'.",
    })
    assert.deepEqual([seen.missing.status, seen.missing.code], [404, 'Request_ResourceNotFound'])

    for (const name of ['addOne', 'addMany', 'update', 'deleted']) assert.equal(seen[name], undefined, name)
    assert.equal(seen.alone.allowExternalSenders, true)
    assert.equal(seen.together.status, 400)
    assert.deepEqual([seen.inner.displayName, seen.inner.description], ['Inner', 'changed'])

    assert.equal(seen.extension.id, 'vendor.graph.openTypeExtension.com.example.x')
    assert.deepEqual(
      seen.expanded.extensions.map(({ theme }: { theme: string }) => theme),
      ['dark'],
    )
    assert.deepEqual([seen.gone.status, seen.gone.code], [404, 'ResourceNotFound'])

    const named = seen.paged.filter((name: string) => /^(ann|ben|cas|dot|eli)$/.test(name))
    assert.deepEqual(named, ['eli', 'dot', 'cas', 'ben', 'ann'])
    assert.deepEqual(seen.members.toSorted(), ['ann', 'ben', 'cas', 'dot'])
    assert.equal(String(seen.count), '4')
    assert.ok(seen.counted[0] >= 6)
    assert.equal(seen.counted[1], 1)
    assert.deepEqual(seen.searched, ['ann'])
    assert.deepEqual([seen.refused.status, seen.refused.code], [400, 'BadRequest'])

    assert.equal(seen.me.id, me)
    assert.ok(user)
    assert.deepEqual(seen.left.toSorted(), ['ben', 'cas', 'dot'])
    assert.equal(seen.restored.displayName, 'eli')
  })

  test('reads types and casts', async () => {
    const { types, casts, context } = await run(typedProgram, service.httpsOrigin)
    assert.deepEqual(types, ['#microsoft.graph.user'])
    assert.deepEqual(casts, [1, 1, 1, 0])
    assert.equal(context, `${service.httpsOrigin}/microsoft.graph/v1.0/$metadata#groups/$entity`)
  })

  test('follows next links over plain HTTP', async () => {
    assert.deepEqual(await run(plainProgram, service.origin), ['a', 'b', 'c', 'd', 'e'])
  })
})
