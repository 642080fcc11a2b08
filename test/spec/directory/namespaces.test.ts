import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe } from 'node:test'
import { everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

const alias = '/microsoft.graph/v1.0'

describe('namespaces', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string

  before(async () => {
    service = await startTestService({ MASQUERADE_NOTIFICATION_HOSTS: '127.0.0.1' })
    directory = fillDirectory(service)
    token = service.tokenFor({ kind: 'application', permissions: [...everything, 'Directory.Read.All'] })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const ask = (method: string, url: string, body?: unknown) =>
    service.request(method, url, { token, ...(body !== undefined && { body }) })

  /** Every name of a type in an answer. */
  const namespacesIn = (text: string) => [
    ...new Set([...text.matchAll(/(\w+\.graph)\b(?=\.)/g)].map(([, name]) => name)),
  ]

  clause(
    'DIR-278',
    'Under `/microsoft.graph/v1.0` the same API answers in the namespace `microsoft.graph`: every `@odata.type` and `@odata.context`, ids of extensions, messages, `$metadata`, answers inside a batch, and notifications of subscriptions that were made there. …',
    async () => {
      const [group, user] = [await directory.group(), await directory.user()]
      await directory.join(user, group)
      const extension = {
        '@odata.type': 'graph.openTypeExtension',
        extensionName: 'com.example.x',
        note: 'vendor.graph.user',
      }
      const made = await ask('POST', `${alias}/users/${user}/extensions`, extension)
      assert.equal(made.status, 201, made.text)
      assert.equal(made.body.id, 'microsoft.graph.openTypeExtension.com.example.x')
      assert.equal(made.body.note, 'vendor.graph.user', 'data of people is theirs')
      assert.ok(made.headers.get('location')?.startsWith(`${service.origin}${alias}/users/`))

      const places = [
        `/groups/${group}/members`,
        `/users/${user}/extensions/com.example.x`,
        `/users/${user}/memberOf`,
        `/groups/delta?$select=members`,
        `/directoryObjects/${user}`,
        '/$metadata',
        '/users?$filter=nothing eq 1',
      ]
      for (const place of places) {
        const [own, other] = [await ask('GET', `/v1.0${place}`), await ask('GET', `${alias}${place}`)]
        const found = [namespacesIn(without(own.text)), namespacesIn(without(other.text))]
        assert.deepEqual(found, [['vendor.graph'], ['microsoft.graph']], place)
        assert.equal(other.status, own.status)
      }

      const casts = ['vendor.graph.user', 'microsoft.graph.user', 'graph.user']
      for (const base of ['/v1.0', alias])
        for (const cast of casts) {
          const listed = await ask('GET', `${base}/groups/${group}/members/${cast}?$count=true`)
          assert.equal(listed.body['@odata.count'], 1, `${base} ${cast}: ${listed.text}`)
          assert.equal((await ask('GET', `${base}/groups/${group}/members/${cast}/$count`)).text, '1')
          assert.equal((await ask('GET', `${base}/directory/deletedItems/${cast}`)).status, 200)
          const extensions = await ask(
            'GET',
            `${base}/directoryObjects/${user}/${cast}/extensions/${cast.replace('user', 'openTypeExtension')}.com.example.x`,
          )
          assert.equal(extensions.status, 200, extensions.text)
          const action = `${base}/users/${user}/${cast.replace('user', 'getMemberGroups')}`
          assert.deepEqual((await ask('POST', action, { securityEnabledOnly: false })).body.value, [group])
          const one = await ask('GET', `${base}/groups/${group}/members/${user}/${cast}`)
          assert.equal(one.body.id, user, one.text)
          for (const type of [cast, `#${cast}`]) {
            const sent = { ids: [user, group], types: [type] }
            const known = await ask('POST', `${base}/directoryObjects/getByIds`, sent)
            assert.equal(known.body.value?.length, 1, known.text)
          }
          const revoke = `${base}/users/${user}/${cast.replace('user', 'revokeSignInSessions')}`
          assert.equal((await ask('POST', revoke)).status, 200)
        }

      const page = await ask('GET', `${alias}/users?$top=1`)
      assert.ok(page.body['@odata.nextLink'].startsWith(`${service.origin}${alias}/users?`))
      assert.equal((await ask('GET', page.body['@odata.nextLink'])).status, 200)
      const batch = await ask('POST', `${alias}/$batch`, {
        requests: [
          { id: '1', method: 'GET', url: `/groups/${group}/members` },
          { id: '2', method: 'GET', url: `${service.origin}${alias}/users?$top=1` },
          { id: '3', method: 'GET', url: `${alias}/users?$filter=nothing eq 1` },
        ],
      })
      const [members, users, wrong] = batch.body.responses
      assert.equal(members.body.value[0]['@odata.type'], '#microsoft.graph.user')
      assert.ok(users.body['@odata.nextLink'].startsWith(`${service.origin}${alias}/users?`))
      assert.match(wrong.body.error.message, /microsoft\.graph\.user/)
      for (const path of ['/microsoft.graph/users', '/microsoft.graph/v2.0/users', '/other.graph/v1.0/users'])
        assert.equal((await ask('GET', path)).status, 404, path)
      assert.equal((await service.request('GET', `${alias}/users`)).status, 401)
    },
  )

  clause(
    'DIR-278',
    'Under `/microsoft.graph/v1.0` the same API answers in the namespace `microsoft.graph`: …',
    async () => {
      const received: { resourceData: Record<string, string> }[] = []
      const client = createServer(async (request, response) => {
        const validation = new URL(request.url ?? '', 'http://client').searchParams.get('validationToken')
        const text = (await request.toArray()).join('')
        if (validation === null) received.push(...JSON.parse(text).value)
        response.writeHead(200, { 'content-type': 'text/plain' }).end(validation ?? '')
      }).listen(0, '127.0.0.1')
      await once(client, 'listening')
      for (const base of ['/v1.0', alias])
        await ask('POST', `${base}/subscriptions`, {
          resource: 'groups',
          changeType: 'created',
          notificationUrl: `http://127.0.0.1:${(client.address() as AddressInfo).port}`,
          expirationDateTime: new Date(Date.now() + 600_000).toISOString(),
        })
      const group = { displayName: 'G', mailNickname: 'g', mailEnabled: false, securityEnabled: true }
      await ask('POST', '/v1.0/groups', group)
      await waitUntil('both notifications', () => received.length >= 2)
      assert.deepEqual(received.map(({ resourceData }) => resourceData['@odata.type']).toSorted(), [
        '#microsoft.graph.group',
        '#vendor.graph.group',
      ])
      client.closeAllConnections()
      client.close()
    },
  )
})

/** Leaves out the data of the extension, and the address itself. */
function without(text: string): string {
  return text.replaceAll(/"note":"[^"]*"/g, '').replaceAll(/microsoft\.graph\/v1\.0/g, '')
}
