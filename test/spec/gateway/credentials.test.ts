import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before } from 'node:test'
import pg from 'pg'
import type { Tx } from '../../../src/db/database.ts'
import { setPassword } from '../../../src/directory/accounts/password.ts'
import { addSecret, removeSecret } from '../../../src/directory/applications/application-secret.ts'
import { createCa } from '../../../src/http/local-ca.ts'
import { splitCredentialName } from '../../../src/kernel/uuid.ts'
import { openCredentials } from '../../../src/open-credentials.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { askDuring } from '../../support/in-flight.ts'
import { addApplication, addPerson, type Person } from '../../support/issuer.ts'
import { overlap, queueForLimits } from '../../support/overlapping-writes.ts'
import { bringPeople, ended } from '../../support/people.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { waitUntil } from '../../support/wait-until.ts'

const gateway = useGateway()
const path = '/providers/Vendor.Sql/databaseCredentials'
let people: Awaited<ReturnType<typeof bringPeople>>
let person: Person

before(async () => {
  people = await bringPeople(gateway)
  person = await addMapped()
})

async function addMapped(): Promise<Person> {
  const added = await addPerson(gateway.masking.service())
  await people.map(added.id)
  return added
}

const tokenOf = (id: string, permissions = ['user_impersonation']) =>
  gateway.masking.service().tokenFor({ principal: id, permissions })

const send = (method: string, name: string, token: string, body?: unknown) =>
  gateway.masking.service().request(method, `${path}${name && `/${name}`}?api-version=2026-11-01`, {
    token,
    ...(body !== undefined && { body }),
  })

async function make(owner: Person, name: string, more: object = {}) {
  const properties = { currentPassword: owner.password, ...more }
  const made = await send('PUT', name, tokenOf(owner.id), { properties })
  assert.equal(made.status, 201, made.text)
  return made.body as { id: string; properties: { userName: string; password: string; expiresAt: string } }
}

const connect = (user: string, password: string) => gateway.connect('', { user, password })

/** Every message that the gateway gets from a client that logs in. */
async function loginBytes(user: string, password: string): Promise<string> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: gateway.port(),
    user,
    password,
    database: gateway.name,
  })
  const sent: Buffer[] = []
  const { stream } = client.connection as unknown as { stream: { write(data: Buffer): boolean } }
  const write = stream.write.bind(stream)
  stream.write = (data: Buffer) => {
    sent.push(Buffer.from(data))
    return write(data)
  }
  await client.connect()
  await client.end()
  return Buffer.concat(sent).toString('latin1')
}

clause(
  'DIR-385',
  'A caller has at most 100 subscriptions through one application, and at most 20 credentials for tools …',
  async () => {
    const owner = await addMapped()
    for (let at = 1; at < 20; at++) await make(owner, `tool-${at}`)
    const body = { properties: { currentPassword: owner.password } }
    const ask = (name: string) => () => send('PUT', name, tokenOf(owner.id), body)
    const answers = await overlap(gateway.masking.service(), ask('one'), ask('other'))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 400],
    )
  },
)

clause(
  'DIR-407',
  'A request that DIR-385 counts and that waits for another write does not delay requests of other callers.',
  async () => {
    const service = gateway.masking.service()
    const [waiting, other] = [await addMapped(), await addMapped()]
    const ask = (owner: Person) =>
      send('PUT', 'tool', tokenOf(owner.id), { properties: { currentPassword: owner.password } })
    const answer = await askDuring(
      service,
      (tx) => tx`select from directory_object where id = ${waiting.id} for update`,
      () => ask(waiting),
      async () => {
        let status: number | undefined
        void ask(other).then((answered) => {
          status = answered.status
        })
        await waitUntil('the other caller is answered', () => status !== undefined, { withinMs: 15_000 })
        assert.equal(status, 201)
      },
    )
    assert.equal(answer.status, 201, answer.text)
  },
)

clause(
  'DIR-424',
  'A credential for a tool and a change of its person that an administrator makes at the same time never wait for each other: …',
  async (t) => {
    const service = gateway.masking.service()
    const administrator = service.tokenFor({
      kind: 'application',
      permissions: ['User.ReadWrite.All', 'Directory.ReadWrite.All', 'RoleManagement.ReadWrite.Directory'],
    })
    const changes = {
      'a password': { passwordProfile: { password: `Long enough ${randomUUID()}` } },
      'a disabled account': { accountEnabled: false },
    }
    for (const [name, body] of Object.entries(changes))
      await t.test(name, async () => {
        const owner = await addPerson(service)
        const properties = { currentPassword: owner.password }
        const [made, changed] = await queueForLimits(
          service,
          owner.id,
          () => send('PUT', 'tool', tokenOf(owner.id), { properties }),
          () => service.request('PATCH', `/v1.0/users/${owner.id}`, { token: administrator, body }),
        )
        assert.deepEqual([made?.status, changed?.status], [201, 204], `${made?.text} ${changed?.text}`)
        const left = await service.database.sql`
          select from database_credential where principal_id = ${owner.id}`
        assert.equal(left.length, 0, 'the change came later')
      })
  },
)

clause(
  'GATE-160',
  'A person or application makes a credential of its own for a tool that keeps one password: `PUT`…',
  async () => {
    const { properties } = await make(person, 'report')
    assert.equal(properties.userName, `${person.userPrincipalName}+report`)
    assert.match(properties.password, /^mqdb_[\w-]{43}$/)
    const [stored] = await gateway.masking.service().database.sql`
      select verifier from database_credential where name = 'report'`
    assert.match(stored?.verifier, /^SCRAM-SHA-256\$4096:/)
    assert.equal(JSON.stringify(stored).includes(properties.password), false)
    const again = await send('PUT', 'report', tokenOf(person.id), {
      properties: { currentPassword: person.password },
    })
    assert.equal(again.status, 409, again.text)

    const wrong = await send('PUT', 'other', tokenOf(person.id), { properties: { currentPassword: 'guess' } })
    assert.equal(wrong.status, 400, wrong.text)
    const none = await send('PUT', 'other', tokenOf(person.id), { properties: {} })
    assert.equal(none.status, 400, none.text)
    const weak = await send('PUT', 'other', tokenOf(person.id, ['User.Read']), {
      properties: { currentPassword: person.password },
    })
    assert.equal(weak.status, 403, weak.text)
    for (const bad of [
      { expiresAt: '2020-01-01T00:00:00Z' },
      { expiresAt: '2099-01-01T00:00:00Z' },
      { databases: ['x'] },
    ]) {
      const refused = await send('PUT', 'other', tokenOf(person.id), {
        properties: { currentPassword: person.password, ...bad },
      })
      assert.equal(refused.status, 400, refused.text)
    }

    const service = gateway.masking.service()
    const { appId, servicePrincipalId, secret } = await addApplication(service)
    const own = service.tokenFor({ kind: 'application', principal: servicePrincipalId, applicationId: appId })
    for (const properties of [{}, { currentPassword: (await addApplication(service)).secret }]) {
      const stolen = await send('PUT', 'etl', own, { properties })
      assert.equal(stolen.status, 400, stolen.text)
    }
    const made = await send('PUT', 'etl', own, { properties: { currentPassword: secret } })
    assert.equal(made.status, 201, made.text)
    assert.equal(made.body.properties.userName, `${appId}+etl`)
    await people.map(servicePrincipalId)
    const client = await connect(made.body.properties.userName, made.body.properties.password)
    assert.equal((await client.query('select 1 as one')).rows[0].one, 1)
  },
)

/** How often the store is asked before a client with this name has proven anything. */
async function countStatements(user: string): Promise<number> {
  const { database, tenantId, auth } = gateway.masking.service()
  let count = 0
  const sql = new Proxy(database.sql, {
    apply(of, self, values) {
      count++
      return Reflect.apply(of, self, values)
    },
  })
  const { account, credential } = splitCredentialName(user) ?? { account: '', credential: '' }
  const { logins } = openCredentials(sql, tenantId, auth.secretBox)
  await logins.findCredential(account, credential, gateway.db)
  return count
}

clause(
  'GATE-161',
  'The user name is the userPrincipalName or appId, a plus and the name of the credential, and the password is proven by…',
  async () => {
    const { properties } = await make(person, 'bi')
    const client = await connect(properties.userName, properties.password)
    const { rows } = await client.query('select email from customers limit 1')
    assert.match(rows[0].email, /XXX@XXXX\.com$/)
    assert.equal(
      (await loginBytes(properties.userName, properties.password)).includes(properties.password),
      false,
    )
    const [entry] = await gateway.masking.service().database.sql`
      select actor, after from audit_event where action = 'gateway/connect' order by id desc limit 1`
    assert.equal(entry?.actor.objectId, person.id)
    assert.equal(entry?.after.credential, 'bi')
    const { body } = await send('GET', '', tokenOf(person.id))
    const shown = body.value.find(({ name }: { name: string }) => name === 'bi')
    assert.ok(shown.properties.lastUsedAt)
    assert.equal(JSON.stringify(body).includes('verifier'), false)

    const other = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Sql/servers/x/databases/y'
    const elsewhere = await make(person, 'elsewhere', { databases: [other] })
    const here = await make(person, 'here', { databases: [gateway.db] })
    await connect(here.properties.userName, here.properties.password)
    const messages = new Set<string>()
    const attempts: [string, string][] = [
      [elsewhere.properties.userName, elsewhere.properties.password],
      [properties.userName, 'wrong'],
      [`${person.userPrincipalName}+absent`, properties.password],
      ['nobody@example.com+bi', properties.password],
    ]
    for (const [user, password] of attempts)
      await assert.rejects(connect(user, password), (error: Error & { code?: string }) => {
        assert.equal(error.code, '28P01')
        messages.add(error.message.replace(user, 'NAME'))
        return true
      })
    assert.equal(messages.size, 1, [...messages].join())
    const counts = new Set<number>()
    for (const [user] of attempts) counts.add(await countStatements(user))
    assert.equal(counts.size, 1, [...counts].join())
  },
)

clause(
  'GATE-162',
  'Callers list and revoke their own credentials. Those of others need a masking role at `/`: `Reader` lists them,…',
  async () => {
    const owner = await addMapped()
    const { id, properties } = await make(owner, 'shared')
    const key = id.split('/').at(-1) ?? ''
    const stranger = tokenOf((await addPerson(gateway.masking.service())).id)
    assert.deepEqual((await send('GET', '', stranger)).body.value, [])
    for (const name of ['shared', key]) assert.equal((await send('DELETE', name, stranger)).status, 404)
    const service = gateway.masking.service()
    const reader = service.tokenFor({ role: 'Reader' })
    assert.ok((await send('GET', '', reader)).body.value.some((one: { id: string }) => one.id === id))
    assert.equal((await send('DELETE', key, reader)).status, 404)
    const contributor = service.tokenFor({ role: 'Contributor' })
    assert.equal((await send('DELETE', key, contributor)).status, 404)
    const client = await connect(properties.userName, properties.password)
    const over = ended(client, 10_000)
    assert.equal((await send('DELETE', key, service.tokenFor({ role: 'Owner' }))).status, 204)
    assert.equal(await over, '57P01')
    await assert.rejects(connect(properties.userName, properties.password))
  },
)

clause(
  'GATE-163',
  'A session by a credential ends within two seconds, on every node, when the credential is revoked or expires, its owner is…',
  async () => {
    const service = gateway.masking.service()
    const { sql } = service.database
    const ways: ((owner: Person) => Promise<unknown>)[] = [
      (owner) => send('DELETE', 'x', tokenOf(owner.id)),
      (owner) => sql`update database_credential set expires_at = now() where principal_id = ${owner.id}`,
      (owner) => sql`
        update directory_object set properties = properties || '{"accountEnabled": false}' where id = ${owner.id}`,
      (owner) => sql`update user_password set hash = hash || 'x' where user_id = ${owner.id}`,
    ]
    for (const end of ways) {
      const owner = await addMapped()
      const { properties } = await make(owner, 'x')
      const client = await connect(properties.userName, properties.password)
      const over = ended(client, 10_000)
      await end(owner)
      assert.equal(await over, '57P01')
      await assert.rejects(connect(properties.userName, properties.password), { code: '28P01' })
    }
  },
)

/** Asks for a credential while a transaction that ends its ground is under way; returns the status of the answer. */
async function makeDuring(change: (tx: Tx) => Promise<unknown>, token: string, currentPassword: string) {
  const { database, tokens } = gateway.masking.service()
  // The change may lock the rows that a token's principal still waits to be written to.
  await tokens.settled()
  const asked = await database.transaction(async (tx) => {
    await change(tx)
    let isOver = false
    const answer = send('PUT', 'late', token, { properties: { currentPassword } }).finally(() => {
      isOver = true
    })
    await waitUntil('the request waits for the change, or is over', async () => {
      const [row] = await database.sql`
        select exists (select from pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock' and query ~ '(application_secret|user_password).*for share') as waits`
      return isOver || row?.waits
    })
    return { answer }
  })
  return (await asked.answer).status
}

clause(
  'GATE-166',
  'A credential never outlives the password that it was made with. One that is asked for while the password is changed is…',
  async () => {
    const service = gateway.masking.service()
    const { tenantId, database } = service
    const countOf = async (id: string) => {
      const [row] = await database.sql`
        select count(*)::int as count from database_credential where principal_id = ${id}`
      return row?.count
    }
    const owner = await addMapped()
    const change = (tx: Tx) => setPassword(tx, tenantId, owner.id, `Another ${randomUUID()}`)
    assert.equal(await makeDuring(change, tokenOf(owner.id), owner.password), 400)
    assert.equal(await countOf(owner.id), 0)

    const app = await addApplication(service)
    const { appId: applicationId, servicePrincipalId: principal } = app
    await people.map(principal)
    const token = service.tokenFor({ kind: 'application', principal, applicationId })
    const made = await send('PUT', 'etl', token, { properties: { currentPassword: app.secret } })
    const client = await connect(made.body.properties.userName, made.body.properties.password)
    const over = ended(client, 10_000)
    const [row] = await database.sql<{ key: string }[]>`
      select key_id as key from application_secret where application_id = ${app.applicationId}`
    const endsAt = new Date(Date.now() + 3_600_000)
    const { secretText } = await database.transaction((tx) =>
      addSecret(tx, tenantId, app.applicationId, { endsAt }),
    )
    const dayMs = 24 * 3_600_000
    for (const [name, asked, end] of [
      ['usual', undefined, endsAt],
      ['later', new Date(Date.now() + 300 * dayMs), endsAt],
      ['sooner', new Date(Date.now() + 60_000), undefined],
    ] as const) {
      const { status, body, text } = await send('PUT', name, token, {
        properties: { currentPassword: secretText, ...(asked && { expiresAt: asked.toISOString() }) },
      })
      assert.equal(status, 201, text)
      assert.equal(body.properties.expiresAt, (end ?? asked)?.toISOString())
    }
    const remove = (tx: Tx) => removeSecret(tx, tenantId, app.applicationId, row?.key ?? '')
    assert.equal(await makeDuring(remove, token, app.secret), 400)
    assert.equal(await over, '57P01')
    assert.equal(await countOf(principal), 0)
  },
)

clause(
  'TOK-121',
  'Disabling or deleting a user ends access and refresh tokens, browser sessions and credentials for tools for good; of…',
  async (t) => {
    t.diagnostic('a credential that is asked for while the application is disabled')
    const service = gateway.masking.service()
    const { appId: applicationId, servicePrincipalId: principal, secret } = await addApplication(service)
    const token = service.tokenFor({ kind: 'application', principal, applicationId })
    const disable = (tx: Tx) => tx`
      update directory_object set properties = properties || '{"accountEnabled": false}' where id = ${principal}`
    assert.equal(await makeDuring(disable, token, secret), 400)
  },
)

clause(
  'GATE-164',
  'After 20 failures of a name at the gateway from one network its logins wait there, longer each time, whether or not it…',
  async () => {
    const { properties } = await make(person, 'guessed')
    for (const user of [properties.userName, `${person.userPrincipalName}+unreal`]) {
      await gateway.masking.service().database.sql`delete from sign_in_attempt`
      for (let count = 0; count < 20; count++) await assert.rejects(connect(user, 'wrong'), { code: '28P01' })
      await assert.rejects(connect(user, properties.password), {
        code: '28000',
        message: /too many failed logins/,
      })
    }
  },
)

clause(
  'GATE-167',
  'Removing or replacing a certificate of an application ends its credentials for tools, as removing a secret does.',
  async () => {
    const service = gateway.masking.service()
    const { applicationId, appId, servicePrincipalId: principal, secret } = await addApplication(service)
    const token = service.tokenFor({ kind: 'application', principal, applicationId: appId })
    const admin = service.tokenFor({
      permissions: ['Application.ReadWrite.All', 'RoleManagement.ReadWrite.Directory'],
    })
    const update = async (body: object) => {
      const { status, text } = await service.request('PATCH', `/v1.0/applications/${applicationId}`, {
        token: admin,
        body,
      })
      assert.equal(status, 204, text)
    }
    const keys = async () =>
      (await service.request('GET', `/v1.0/applications/${applicationId}`, { token: admin })).body
        .keyCredentials
    const certify = async () => {
      const { ca } = await createCa(['client.example'], new Date())
      return { key: Buffer.from(ca.certificate.rawData).toString('base64') }
    }
    const count = async () => (await send('GET', '', token)).body.value.length
    await update({ keyCredentials: [await certify()] })
    for (const end of [async () => [], async () => [await certify()]]) {
      const made = await send('PUT', 'etl', token, { properties: { currentPassword: secret } })
      assert.equal(made.status, 201, made.text)
      await update({ notes: 'of no consequence' })
      await update({ keyCredentials: [...(await keys()), await certify()] })
      assert.equal(await count(), 1, 'none was removed')
      await update({ keyCredentials: await end() })
      assert.equal(await count(), 0)
    }
  },
)

clause(
  'GATE-165',
  '`masquerade credential create`, `list` and `revoke` do the same from the command line; the person is asked for the…',
  async () => {
    const service = gateway.masking.service()
    const environment = await settleIn(service)
    const owner = await addMapped()
    const args = ['--token', tokenOf(owner.id), '--url', service.origin]
    const made = await runHere(['credential', 'create', 'cron', '--days', '7', '--json', ...args], {
      environment,
      input: `${owner.password}\n`,
    })
    assert.equal(made.code, 0, made.stderr)
    const { userName, password } = JSON.parse(made.stdout).properties
    await connect(userName, password)
    const listed = await runHere(['credential', 'list', ...args], { environment })
    assert.match(listed.stdout, /^cron\t/)
    assert.equal(listed.stdout.includes(password), false)
    assert.equal((await runHere(['credential', 'revoke', 'cron', ...args], { environment })).code, 0)
    const gone = await runHere(['credential', 'revoke', 'cron', ...args], { environment })
    assert.equal(gone.code, 5, gone.stderr)
  },
)
