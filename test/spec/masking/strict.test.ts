import assert from 'node:assert/strict'
import { clause } from '../../support/clause.ts'
import { emailRule, policyUrl, rulesUrl, ruleUrl, useMasking } from '../../support/masking.ts'

const { send } = useMasking({ MASQUERADE_STRICT: '1', MASQUERADE_BINDING_HOSTS: 'db.example.com,*.internal' })

const server = '/subscriptions/S/resourceGroups/G/providers/Vendor.Sql/servers/V'
const db = `${server}/databases/D`

clause(
  'MASK-115',
  'With the setting `strict`, a server or database that was never declared is 404…',
  async () => {
    const rule = { properties: emailRule }
    const policy = { properties: { dataMaskingState: 'Enabled' } }
    const all: [string, string, unknown?][] = [
      ['PUT', ruleUrl(db, 'r'), rule],
      ['GET', rulesUrl(db)],
      ['GET', ruleUrl(db, 'r')],
      ['DELETE', ruleUrl(db, 'r')],
      ['GET', policyUrl(db)],
      ['PUT', policyUrl(db), policy],
    ]
    const expectMissing = async (parent: string) => {
      for (const [method, url, sent] of all) {
        const { status, body } = await send(method, url, sent)
        assert.equal(status, 404, `${method} ${url}`)
        assert.equal(body.error.code, 'ParentResourceNotFound')
        assert.ok(body.error.message.includes(`'${parent}'`), body.error.message)
      }
    }
    await expectMissing(server)
    assert.equal((await send('PUT', db, {})).body.error.code, 'ParentResourceNotFound')
    assert.equal((await send('PUT', server, {})).status, 201)
    await expectMissing(db)
    assert.equal((await send('PUT', db, {})).status, 201)
    assert.equal((await send('PUT', ruleUrl(db, 'r'), rule)).status, 201)
    assert.equal((await send('GET', policyUrl(db.toLowerCase()))).status, 200)
  },
)

clause(
  'MASK-124',
  'The setting for the hosts of bindings, where it is set, names the only hosts that a database can be bound to.',
  async () => {
    await send('PUT', server, {})
    const bind = (host: string) =>
      send('PUT', db, { properties: { binding: { host, database: 'd', user: 'u', password: 'p' } } })
    for (const host of [
      '127.0.0.1',
      'example.com',
      'evil-db.example.com',
      'internal',
      'x.internal.evil.org',
    ]) {
      const { status, body } = await bind(host)
      assert.equal(status, 400, host)
      assert.equal(body.error.target, 'properties.binding.host')
    }
    assert.equal((await bind('no-such.internal')).status, 200)
  },
)
