import assert from 'node:assert/strict'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before } from 'node:test'
import pg from 'pg'
import { readSecretKeys } from '../../../src/auth/secret-key.ts'
import { createSecretBox, nameKey } from '../../../src/kernel/secret-box.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { bringPeople } from '../../support/people.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'

/** Both nodes issue tokens in one name. */
const sameName = { MASQUERADE_PUBLIC_URL: 'https://masquerade.example' }
const gateway = useGateway(sameName)
let other: TestService
let otherFile = ''
let environment: Record<string, string> = {}
let person: { id: string; name: string; token: string }

before(async () => {
  const first = gateway.masking.service()
  otherFile = join(first.dataDir, 'copied.key')
  await copyFile(join(first.dataDir, 'secret.key'), otherFile)
  other = await startTestService({
    ...sameName,
    MASQUERADE_DATABASE_URL: first.databaseUrl,
    MASQUERADE_SECRET_KEY_FILE: otherFile,
    MASQUERADE_AUDIT_SECONDS: '3600',
  })
  environment = await settleIn(first)
  const people = await bringPeople(gateway)
  person = await people.user()
  await people.map(person.id)
})
after(() => other?.[Symbol.asyncDispose]())

/** A person's query through the gateway of a node, and a request to it: both have to work at any time. */
async function useNode(node: TestService): Promise<void> {
  const { name: user, token: password } = person
  const client = new pg.Client({
    host: '127.0.0.1',
    port: node.gateway.port,
    user,
    password,
    database: gateway.name,
  })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query('select email from customers limit 1')
  await client.end()
  assert.match(rows[0].email, /XXX@XXXX\.com$/)
  const token = node.tokenFor({ permissions: ['User.Read.All'] })
  assert.equal((await node.request('GET', '/v1.0/users?$top=1', { token })).status, 200)
}

const sealedWith = (sql: TestService['database']['sql']) => sql<{ id: string }[]>`
  select distinct encode(substring(value from 1 for 4), 'hex') as id from (
    select private_key as value from signing_key
    union all select decode(payload ->> 'sealed', 'base64') from oidc_state
    union all select binding_secret from masked_database where binding_secret is not null) sealed`

clause(
  'SVC-67',
  '`masquerade keys rotate-secret` replaces the secret key while every node runs and no request or session fails…',
  async () => {
    const service = gateway.masking.service()
    const { sql } = service.database
    const file = join(service.dataDir, 'secret.key')
    const [old = Buffer.alloc(0)] = readSecretKeys(service.dataDir, undefined)
    await useNode(service)
    await useNode(other)

    const rotate = (seconds: number) =>
      runHere(['keys', 'rotate-secret', '--wait-seconds', String(seconds), '--json'], { environment })
    const waiting = await rotate(0)
    assert.equal(waiting.code, 4, waiting.stderr)
    assert.match(JSON.parse(waiting.stdout).waitsFor, /^Copy .*secret\.key to the machines of nodes/)
    const [, fresh = Buffer.alloc(0)] = readSecretKeys(service.dataDir, undefined)
    assert.deepEqual(
      (await sealedWith(sql)).map(({ id }) => id),
      [nameKey(old)],
    )

    await copyFile(file, otherFile)
    let isDone = false
    let uses = 0
    // Both at once: nodes that differ in their key set the password of one login role in turn.
    const use = async (node: TestService) => {
      for (; !isDone; uses++) await useNode(node)
    }
    const using = Promise.all([service, other].map(use))
    using.catch(() => {})
    let done = waiting
    for (let run = 0; done.code === 4 && run < 5; run++) done = await rotate(10)
    isDone = true
    await using
    assert.equal(done.code, 0, done.stdout + done.stderr)
    assert.ok(uses > 1)
    assert.deepEqual(
      (await sealedWith(sql)).map(({ id }) => id),
      [nameKey(fresh)],
    )
    assert.deepEqual(readSecretKeys(service.dataDir, undefined), [fresh])
    assert.equal((await readFile(file, 'utf8')).trim(), fresh.toString('base64'))
    await copyFile(file, otherFile)
    await useNode(service)
    await useNode(other)
    const rule = {
      schemaName: 'public',
      tableName: 'customers',
      columnName: 'name',
      maskingFunction: 'Default',
    }
    const put = await gateway.masking.putRule(gateway.db, 'name', rule)
    assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced', put.text)
    const [entry] = await sql`select after from audit_event where action = 'rotateSecret'`
    assert.deepEqual([entry?.after.from, entry?.after.to], [nameKey(old), nameKey(fresh)])
    // In a database in which nothing happens, as well.
    assert.equal((await rotate(0)).code, 4)
    await copyFile(file, otherFile)
    const again = await rotate(30)
    assert.equal(again.code, 0, again.stdout + again.stderr)
    assert.throws(() => createSecretBox(old).open('x', Buffer.from(nameKey(fresh), 'hex')), /another key/)
  },
)

clause(
  'SVC-68',
  'A node whose key file lacks the key that seals does not start, and says which file it needs.',
  async () => {
    const service = gateway.masking.service()
    const stale = join(service.dataDir, 'stale.key')
    await writeFile(stale, Buffer.alloc(32, 9))
    await assert.rejects(
      startTestService({ MASQUERADE_DATABASE_URL: service.databaseUrl, MASQUERADE_SECRET_KEY_FILE: stale }),
      /sealed with another key.*the same secret\.key/,
    )
  },
)
