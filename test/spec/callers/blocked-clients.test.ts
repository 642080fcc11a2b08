import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { SignJWT } from 'jose'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson } from '../../support/issuer.ts'
import { queueForObjects, queueForRights } from '../../support/overlapping-writes.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

const audience = 'https://masking.example'
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const minute = 60

describe('blocked clients of outside issuers', () => {
  let keyServer: Server
  let issuer: string
  let directory: string
  let service: TestService

  before(async () => {
    const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'key', alg: 'ES256' }]
    keyServer = createServer((_request, response) => void response.end(JSON.stringify({ keys })))
    await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve))
    issuer = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}`
    directory = await mkdtemp(join(tmpdir(), 'masquerade-test-'))
    const file = join(directory, 'issuers.json')
    const listed = { issuer, jwksUri: `${issuer}/keys`, audiences: [audience], claims: { tid: null } }
    await writeFile(file, JSON.stringify([listed]))
    service = await startTestService({
      MASQUERADE_TRUSTED_ISSUERS_FILE: file,
      MASQUERADE_TOKEN_CHECK_SECONDS: '1',
    })
  })
  after(async () => {
    await service[Symbol.asyncDispose]()
    keyServer.close()
    await rm(directory, { recursive: true, force: true })
  })

  /** A token in whole seconds that was issued some time ago: one of the second of a revocation would pass. */
  const outsideToken = (oid: string, appid: string, scp: string, ageSeconds = 0) => {
    const now = Math.floor(Date.now() / 1000)
    return new SignJWT({
      oid,
      appid,
      scp,
      iss: issuer,
      aud: audience,
      iat: now - ageSeconds,
      exp: now + 10 * minute,
    })
      .setProtectedHeader({ alg: 'ES256', kid: 'key' })
      .sign(privateKey)
  }
  const ask = async (token: string, method: string, at: string, body?: unknown) =>
    (await service.request(method, `/v1.0${at}`, { token, ...(body ? { body } : {}) })).status
  const administer = async (method: string, at: string, body?: unknown) => {
    const token = service.tokenFor({ kind: 'application', permissions: ['Application.ReadWrite.All'] })
    const status = await ask(token, method, at, body)
    assert.ok(status < 300, `${method} ${at} ${status}`)
  }
  const enable = (id: string, accountEnabled: boolean) =>
    administer('PATCH', `/servicePrincipals/${id}`, { accountEnabled })

  const isAnswered = async (token: string, status: number) => (await ask(token, 'GET', '/me')) === status
  const assertAdmitted = (token: string) => waitUntil('the token is admitted', () => isAnswered(token, 200))
  /** For longer than a node remembers what a token rests on. */
  const assertRefused = async (...tokens: readonly string[]) => {
    const areRefused = async () =>
      (await Promise.all(tokens.map((token) => isAnswered(token, 401)))).every(Boolean)
    await waitUntil('the tokens are refused', areRefused)
    await holdsFor(1100, 'the tokens stay refused', areRefused)
  }

  /** A client of two hours that a person without a role owns, and the person's tokens through it. */
  async function register() {
    const person = await addPerson(service)
    const client = await addApplication(service)
    const { tenantId, database } = service
    await database.sql`
      update directory_object set created_at = created_at - interval '2 hours' where id = ${client.servicePrincipalId}`
    for (const id of [client.applicationId, client.servicePrincipalId])
      await database.sql`
        insert into owner_edge (tenant_id, object_id, owner_id) values (${tenantId}, ${id}, ${person.id})`
    const old = await outsideToken(person.id, client.appId, 'User.Read', minute)
    const fresh = () => outsideToken(person.id, client.appId, 'User.Read')
    const asOwner = await outsideToken(person.id, randomUUID(), 'Application.ReadWrite.All User.Read')
    await assertAdmitted(old)
    return { ...client, old, fresh, asOwner }
  }

  clause(
    'TOK-129',
    'A token of an outside issuer is refused while its client is disabled or deleted here, and after a purge until …',
    async () => {
      const { appId, applicationId, servicePrincipalId, old, fresh } = await register()
      await enable(servicePrincipalId, false)
      await assertRefused(await fresh())
      await enable(servicePrincipalId, true)
      await assertAdmitted(await fresh())
      await assertRefused(old)
      await administer('DELETE', `/servicePrincipals/${servicePrincipalId}`)
      await assertRefused(old, await fresh())
      await administer('DELETE', `/directory/deletedItems/${servicePrincipalId}`)
      await assertRefused(old, await fresh())
      await administer('POST', '/servicePrincipals', { appId })
      await assertAdmitted(await fresh())
      await assertRefused(old)
      await administer('DELETE', `/applications/${applicationId}`)
      await assertRefused(old, await fresh())
      await administer('DELETE', `/directory/deletedItems/${applicationId}`)
      await assertRefused(old, await fresh())
    },
  )

  clause(
    'DIR-332',
    'Where outside issuers are configured, a signed-in person enables, deletes, restores, purges or makes anew …',
    async () => {
      const { appId, applicationId, servicePrincipalId, fresh, asOwner } = await register()
      const principal = `/servicePrincipals/${servicePrincipalId}`
      const application = `/applications/${applicationId}`
      const deleted = `/directory/deletedItems/${servicePrincipalId}`
      const assertBlocked = async (deeds: readonly Parameters<typeof asked>[]) => {
        for (const deed of deeds) assert.equal(await asked(...deed), 403, deed.slice(0, 2).join(' '))
        await assertRefused(await fresh())
      }
      const asked = (method: string, at: string, body?: unknown) => ask(asOwner, method, at, body)

      await enable(servicePrincipalId, false)
      await assertBlocked([
        ['PATCH', principal, { accountEnabled: true }],
        ['PATCH', `/servicePrincipals(appId='${appId}')`, { accountEnabled: true, notes: 'mine' }],
        ['DELETE', principal],
        ['DELETE', application],
      ])
      assert.equal(
        await asked('PATCH', principal, { notes: 'mine' }),
        204,
        'the block stays, so an owner may',
      )
      await administer('DELETE', principal)
      await assertBlocked([
        ['POST', `${deleted}/restore`],
        ['DELETE', deleted],
        ['POST', '/servicePrincipals', { appId }],
        ['DELETE', application],
      ])
      await administer('DELETE', deleted)
      await assertBlocked([['POST', '/servicePrincipals', { appId }]])
      await administer('DELETE', application)
      const gone = `/directory/deletedItems/${applicationId}`
      await assertBlocked([
        ['POST', `${gone}/restore`],
        ['DELETE', gone],
      ])

      const own = await register()
      const living = `/servicePrincipals/${own.servicePrincipalId}`
      assert.equal(
        await ask(own.asOwner, 'PATCH', living, { accountEnabled: true }),
        204,
        'it is enabled already',
      )
      assert.equal(await ask(own.asOwner, 'DELETE', `/applications/${own.applicationId}`), 204)
      await assertRefused(await own.fresh())
    },
  )

  clause(
    'DIR-332',
    'Where outside issuers are configured, a signed-in person enables, deletes, restores, purges or makes anew …',
    async () => {
      const { applicationId, servicePrincipalId, asOwner } = await register()
      const { sql } = service.database
      const block = service.database.transaction(async (tx) => {
        await tx`
          update directory_object set properties = properties || '{"accountEnabled": false}' where id = ${servicePrincipalId}`
        const answer = ask(asOwner, 'DELETE', `/applications/${applicationId}`)
        await waitUntil('the owner waits for the block', async () => {
          const [waiting] = await sql`
            select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
          return waiting !== undefined
        })
        return { answer }
      })
      const { answer } = await block
      assert.equal(await answer, 403, 'a block that is being made counts')
    },
  )

  clause(
    'DIR-356',
    'A write that gives a right and one that is judged by it (DIR-354, DIR-355) never wait for each other: none is begun…',
    async () => {
      const { applicationId, servicePrincipalId, asOwner } = await register()
      const owner = {
        '@odata.id': `https://x/v1.0/directoryObjects/${(await register()).servicePrincipalId}`,
      }
      const token = service.tokenFor({ kind: 'application', permissions: ['Application.ReadWrite.All'] })
      const answers = await queueForRights(
        service,
        () =>
          service.request('PATCH', `/v1.0/servicePrincipals/${servicePrincipalId}`, {
            token: asOwner,
            body: { accountEnabled: true },
          }),
        () =>
          service.request('POST', `/v1.0/applications/${applicationId}/owners/$ref`, { token, body: owner }),
      )
      assert.deepEqual(
        answers.map(({ status }) => status),
        [204, 204],
      )
      const [principal, application] = [
        `/v1.0/servicePrincipals/${servicePrincipalId}`,
        `/v1.0/applications/${applicationId}`,
      ]
      const beside = await queueForObjects(
        service,
        [applicationId, servicePrincipalId],
        () => service.request('PATCH', principal, { token: asOwner, body: { accountEnabled: true } }),
        () => service.request('DELETE', application, { token }),
      )
      assert.equal(beside[1]?.status, 204, 'the deletion takes the service principal along')
      assert.ok([204, 404].includes(beside[0]?.status ?? 0), beside[0]?.text)
      assert.equal((await service.request('GET', principal, { token })).status, 404)
    },
  )
})
