import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fillDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { globalAdministrator } from '../../support/tokens.ts'

/** A program as a user of the official client would write it; only the endpoint and the token are ours. */
const program = `
  const { Client, PageIterator } = require('@microsoft/microsoft-graph-client')
  const client = Client.init({
    baseUrl: process.env.ENDPOINT + '/',
    customHosts: new Set([new URL(process.env.ENDPOINT).hostname]),
    authProvider: (done) => done(null, process.env.TOKEN),
  })
  const extension = { '@odata.type': '#microsoft.graph.openTypeExtension', extensionName: 'com.example.roaming', theme: 'dark' }
  const main = async () => {
    const onUser = await client.api('/me/extensions').post(extension)
    const changed = await client.api('/me/extensions/com.example.roaming').patch({ theme: 'light', colour: 'blue' })
    const me = await client.api('/me').select('id').expand('extensions').get()
    const message = await client.api('/me/messages').post({ subject: 'Deal', extensions: [extension] })
    const path = '/me/messages/' + message.id + '/extensions/'
    const onMessage = await client.api(path + message.extensions[0].id).get()
    const found = await client.api('/me/messages').filter("Extensions/any(f:f/id eq 'com.example.roaming')").get()
    const deleted = await client.api(path + message.extensions[0].id).delete()
    await client.api('/me/extensions/com.example.roaming').delete()
    const refusal = await client.api(path + 'com.example.roaming').delete().catch(({ statusCode, code, message }) => ({ statusCode, code, message }))
    const list = await client.api('/me/todo/lists').post({ displayName: 'Long' })
    for (let at = 0; at < 7; at++) await client.api('/me/todo/lists/' + list.id + '/tasks').post({ title: 'task ' + at })
    const first = await client.api('/me/todo/lists/' + list.id + '/tasks').top(3).get()
    const titles = []
    await new PageIterator(client, first, (task) => { titles.push(task.title); return true }).iterate()
    console.log(JSON.stringify({ onUser, changed, me, message, onMessage, found, deleted, refusal, titles }))
  }
  main().catch((error) => { console.error(error); process.exit(1) })`

describe('the official client', () => {
  let service: TestService
  before(async () => {
    service = await startTestService()
  })
  after(() => service?.[Symbol.asyncDispose]())

  test('keeps extensions and follows pages, unchanged, over HTTPS with our CA', async () => {
    const permissions = ['Mail.ReadWrite', 'Tasks.ReadWrite', 'User.ReadWrite']
    const token = service.tokenFor({
      permissions,
      principal: await fillDirectory(service).user(),
      directoryRoles: globalAdministrator,
    })
    await service.tokens.settled()
    const ca = join(service.dataDir, 'client-ca.pem')
    await writeFile(ca, service.listeners.ca ?? '')
    const child = spawn(process.execPath, ['-e', program], {
      env: { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: ca, TOKEN: token, ENDPOINT: service.httpsOrigin },
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
    const seen = JSON.parse(output)

    assert.equal(seen.onUser.id, 'vendor.graph.openTypeExtension.com.example.roaming')
    assert.equal(seen.onUser.theme, 'dark')
    assert.partialDeepStrictEqual(seen.me.extensions, [
      { id: 'com.example.roaming', theme: 'light', colour: 'blue' },
    ])
    assert.equal(seen.onMessage.theme, 'dark')
    assert.deepEqual(
      seen.found.value.map(({ id }: { id: string }) => id),
      [seen.message.id],
    )
    assert.deepEqual(seen.refusal, {
      statusCode: 404,
      code: 'ResourceNotFound',
      message: 'Extension with given id not found.',
    })
    assert.equal(new Set(seen.titles).size, 7)
  })
})
