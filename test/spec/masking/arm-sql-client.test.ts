import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { useMasking } from '../../support/masking.ts'

const { service } = useMasking()

/** A program as a user of the official client would write it; only the endpoint and the token are ours. */
const program = `
  const { SqlManagementClient } = require('@azure/arm-sql')
  const credential = { getToken: async () => ({ token: process.env.TOKEN, expiresOnTimestamp: Date.now() + 3600e3 }) }
  const client = new SqlManagementClient(credential, 'sub-1', { endpoint: process.env.ENDPOINT })
  const at = ['group', 'server', 'shop']
  const list = async () => {
    const rules = []
    for await (const rule of client.dataMaskingRules.listByDatabase(...at)) rules.push(rule)
    return rules
  }
  const put = (name, rule) => client.dataMaskingRules.createOrUpdate(...at, name, rule)
  const column = { schemaName: 'public', tableName: 'person' }
  const main = async () => {
    const server = await client.servers.beginCreateOrUpdateAndWait('group', 'server', { location: 'here', tags: { a: 'b' } })
    const database = await client.databases.beginCreateOrUpdateAndWait(...at, { location: 'here' })
    const fresh = await client.dataMaskingPolicies.get(...at)
    const email = await put('mail', { ...column, columnName: 'email', maskingFunction: 'Email' })
    const number = await put('pay', { ...column, columnName: 'salary', maskingFunction: 'Number', numberFrom: '1', numberTo: '9' })
    const text = await put('phone', { ...column, columnName: 'phone', maskingFunction: 'Text', prefixSize: '1', suffixSize: '2', replacementString: '-' })
    const listed = await list()
    const updated = await put('mail', { ...column, columnName: 'email', maskingFunction: 'Default' })
    const deleted = await put('mail', { ...column, columnName: 'email', maskingFunction: 'Default', ruleState: 'Disabled' })
    const left = await list()
    const enabled = await client.dataMaskingPolicies.get(...at)
    const policy = await client.dataMaskingPolicies.createOrUpdate(...at, { dataMaskingState: 'Disabled', exemptPrincipals: 'dba' })
    const read = await client.dataMaskingPolicies.get(...at)
    const refusal = await put('bad', { ...column, columnName: 'x', maskingFunction: 'Number' }).catch((error) => ({
      statusCode: error.statusCode, code: error.code, message: error.message, target: error.details && error.details.error && error.details.error.target,
    }))
    const servers = []
    for await (const one of client.servers.list()) servers.push(one.name)
    const databases = []
    for await (const one of client.databases.listByServer('group', 'server')) databases.push(one.name)
    const pages = []
    const many = new SqlManagementClient(credential, 'many', { endpoint: process.env.ENDPOINT })
    for await (const page of many.servers.list().byPage()) pages.push(page.length)
    await client.databases.beginDeleteAndWait(...at)
    await client.servers.beginDeleteAndWait('group', 'server')
    console.log(JSON.stringify({ server, database, fresh, email, number, text, listed, updated, deleted, left, enabled, policy, read, refusal, servers, databases, pages }))
  }
  main().catch((error) => { console.error(error); process.exit(1) })`

test('the official client works unchanged, over HTTPS with our CA', async () => {
  const { tokenFor, tokens, listeners, dataDir, httpsOrigin, database, tenantId } = service()
  const token = tokenFor({ role: 'Owner', kind: 'application' })
  await tokens.settled()
  const path = '/subscriptions/many/resourceGroups/group/providers/Vendor.Sql/servers/s'
  await database.sql`
    insert into server (tenant_id, key, subscription_id, resource_group, name, location)
    select ${tenantId}, lower(${path} || n), 'many', 'group', 's' || n, 'here' from generate_series(1, 1001) as n`
  const ca = join(dataDir, 'client-ca.pem')
  await writeFile(ca, listeners.ca ?? '')
  const child = spawn(process.execPath, ['-e', program], {
    env: { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: ca, TOKEN: token, ENDPOINT: httpsOrigin },
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

  assert.equal(seen.server.name, 'server')
  assert.equal(seen.database.type, 'Microsoft.Sql/servers/databases')
  assert.equal(seen.fresh.dataMaskingState, 'Disabled')
  assert.equal(seen.email.idPropertiesId, 'public_person_email')
  assert.equal(seen.email.type, 'Microsoft.Sql/servers/databases/dataMaskingPolicies/rules')
  assert.equal(seen.email.ruleState, 'Enabled')
  assert.deepEqual([seen.number.numberFrom, seen.number.numberTo], ['1', '9'])
  assert.deepEqual([seen.text.prefixSize, seen.text.suffixSize, seen.text.replacementString], ['1', '2', '-'])
  const columns = (rules: { columnName: string }[]) => rules.map(({ columnName }) => columnName)
  assert.deepEqual(columns(seen.listed), ['email', 'phone', 'salary'])
  assert.equal(seen.updated.maskingFunction, 'Default')
  assert.equal(seen.deleted.ruleState, 'Disabled')
  assert.deepEqual(columns(seen.left), ['phone', 'salary'])
  assert.equal(seen.enabled.dataMaskingState, 'Enabled')
  assert.equal(seen.policy.exemptPrincipals, 'dba')
  assert.deepEqual(seen.read, seen.policy)
  assert.equal(seen.refusal.statusCode, 400)
  assert.equal(seen.refusal.code, 'InvalidDataMaskingRule')
  assert.match(seen.refusal.message, /numberFrom/)
  assert.deepEqual([seen.servers, seen.databases], [['server'], ['shop']])
  assert.deepEqual(seen.pages, [1000, 1])
})
