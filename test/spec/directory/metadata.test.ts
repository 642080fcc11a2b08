import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe } from 'node:test'
import { resources } from '../../../src/directory/objects/kinds/resources.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { startTestService, type TestService } from '../../support/service.ts'

type Csdl = Record<string, Record<string, { readonly $Kind?: string; readonly [name: string]: unknown }>>
type Reader = { xml2json(xml: string, options: { strict: boolean; messages: unknown[] }): Csdl }

/** The reader of CSDL that the authors of the standard publish. */
const { xml2json } = createRequire(import.meta.url)('odata-csdl') as Reader

describe('$metadata', () => {
  let service: TestService
  let token: string

  before(async () => {
    service = await startTestService()
    token = service.tokenFor({ kind: 'application', permissions: ['Directory.Read.All'] })
  })
  after(() => service?.[Symbol.asyncDispose]())

  async function read() {
    const answer = await service.request('GET', '/v1.0/$metadata', { token })
    assert.equal(answer.status, 200)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/xml/)
    const messages: unknown[] = []
    const csdl = xml2json(answer.text, { strict: true, messages })
    assert.deepEqual(messages, [])
    return csdl['vendor.graph'] ?? {}
  }

  clause('DIR-144', '`$metadata` describes the types of the directory.', async () => {
    const schema = await read()
    for (const { kind } of Object.values(resources)) {
      assert.equal(schema[kind]?.$Kind, 'EntityType', kind)
      assert.equal(schema[kind]?.$BaseType, 'vendor.graph.directoryObject', kind)
    }
    for (const kind of ['message', 'event', 'todoTask', 'post']) assert.ok(schema[kind], kind)
    assert.equal((await service.request('GET', '/v1.0/$metadata')).status, 401)
  })

  clause(
    'DIR-216',
    '`GET /$metadata` is CSDL in XML, readable by every caller with a token: the directory objects and items with exactly the properties that answers can show, …',
    async () => {
      const schema = await read()
      const directory = fillDirectory(service)
      const shown: Record<string, string> = {
        user: `/users/${await directory.user()}`,
        group: `/groups/${await directory.group()}`,
        device: `/devices/${await directory.device()}`,
        orgContact: `/contacts/${await directory.contact()}`,
      }
      const described = (kind: string) =>
        Object.entries({ ...schema.directoryObject, ...schema[kind] })
          .filter(
            ([name, value]) =>
              !name.startsWith('$') && (value as { $Kind?: string }).$Kind !== 'NavigationProperty',
          )
          .map(([name]) => name)
      for (const [kind, path] of Object.entries(shown)) {
        const names = described(kind)
        const all = await service.request('GET', `/v1.0${path}?$select=${names.join(',')}`, { token })
        assert.equal(all.status, 200, all.text)
        const answered = Object.keys(all.body).filter((name) => !name.includes('@'))
        assert.deepEqual(answered.toSorted(), names.toSorted(), kind)
        const usual = await service.request('GET', `/v1.0${path}`, { token })
        for (const name of Object.keys(usual.body))
          if (!name.includes('@')) assert.ok(names.includes(name), `${kind}.${name}`)
      }
      assert.ok(!described('user').includes('passwordProfile'))
      const members = schema.group?.members as { $Type?: string; $Collection?: boolean }
      assert.deepEqual([members.$Type, members.$Collection], ['vendor.graph.directoryObject', true])
      const manager = schema.user?.manager as { $Type?: string; $Collection?: boolean }
      assert.deepEqual([manager.$Type, manager.$Collection], ['vendor.graph.user', undefined])
      const container = schema.GraphService as Record<string, { $Type?: string }>
      for (const { set, kind } of Object.values(resources))
        assert.equal(container[set]?.$Type, `vendor.graph.${kind}`, set)
      assert.ok(schema.getMemberGroups)
    },
  )
})
