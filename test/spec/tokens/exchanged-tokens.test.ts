import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { exchangedTokensClaim } from '../../../src/auth/token-claims.ts'
import {
  consentPermissions,
  withdrawConsent,
} from '../../../src/directory/applications/granted-permissions.ts'
import { clause } from '../../support/clause.ts'
import { askDuring } from '../../support/in-flight.ts'
import { addApplication, addPerson, type Person } from '../../support/issuer.ts'
import { startNodesThatHear } from '../../support/other-node.ts'
import type { TestService } from '../../support/service.ts'
import { issuedNow } from '../../support/tokens.ts'
import { waitUntil } from '../../support/wait-until.ts'

const permission = 'User.ReadWrite'
const rule = 'An exchanged token ends with the client of each token on its way: …'

describe('exchanged tokens', () => {
  let service: TestService
  let other: TestService

  before(async () => {
    ;[service, other] = await startNodesThatHear()
  })
  after(async () => {
    await other?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
  })

  type Client = Awaited<ReturnType<typeof addApplication>>
  const add = () => addApplication(service, { consented: [permission] })
  /** A token of the person through the client, as by a sign-in. */
  const begin = ({ id }: Person, { appId }: Client) => {
    const { claimsFor, signToken } = service.tokens
    const claims = claimsFor({ principal: id, permissions: [permission] })
    return signToken({ ...claims, azp: appId, ...issuedNow() })
  }
  const exchange = async (assertion: string, { appId, secret }: Client) => {
    const response = await fetch(`${service.origin}/${service.tenantId}/oauth2/v2.0/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        requested_token_use: 'on_behalf_of',
        client_id: appId,
        client_secret: secret,
        assertion,
        scope: `https://graph.microsoft.com/${permission}`,
      }),
    })
    const answer = (await response.json()) as Record<string, string>
    return answer.access_token ?? assert.fail(answer.error_description)
  }
  const statusOf = async (token: string, node = service) =>
    (await node.request('GET', '/v1.0/me?$select=id', { token })).status
  const goesOn = async (token: string, what: string) => {
    for (const node of [service, other]) assert.equal(await statusOf(token, node), 200, what)
  }
  const endsEverywhere = (token: string, what: string) =>
    waitUntil(what, async () => (await statusOf(token)) === 401 && (await statusOf(token, other)) === 401)
  const administer = async (method: string, path: string, body?: object) => {
    const token = service.tokenFor({ kind: 'application', permissions: Object.keys(knownPermissions) })
    const answer = await service.request(method, `/v1.0/${path}`, { token, ...(body && { body }) })
    assert.ok(answer.status < 300, answer.text)
  }
  const enable = (id: string, accountEnabled: boolean) =>
    administer('PATCH', `servicePrincipals/${id}`, { accountEnabled })
  const consentOf = (client: Client, userId: string) => ({
    tenantId: service.tenantId,
    servicePrincipalId: client.servicePrincipalId,
    userId,
    permissions: [permission],
  })

  const ways: Record<string, (client: Client, person: Person) => Promise<unknown>> = {
    disabled: ({ servicePrincipalId }) => enable(servicePrincipalId, false),
    'disabled and enabled': async ({ servicePrincipalId }) => {
      for (const enabled of [false, true]) await enable(servicePrincipalId, enabled)
    },
    'its application deleted': ({ applicationId }) => administer('DELETE', `applications/${applicationId}`),
    'made anew': async ({ servicePrincipalId, appId }) => {
      await administer('DELETE', `servicePrincipals/${servicePrincipalId}`)
      await administer('POST', 'servicePrincipals', { appId })
    },
    'without the consent': async (client, { id }) => {
      const { database } = service
      await database.transaction((tx) => withdrawConsent(tx, consentOf(client, id)))
    },
  }

  for (const [what, shutOut] of Object.entries(ways))
    clause('TOK-160', rule, async (t) => {
      t.diagnostic(what)
      const person = await addPerson(service)
      const [first, second, third] = [await add(), await add(), await add()]
      for (const client of [first, second])
        await service.database.transaction((tx) => consentPermissions(tx, consentOf(client, person.id)))
      const token = begin(person, first)
      const one = await exchange(token, second)
      const two = await exchange(one, third)
      const beside = await exchange(begin(person, third), second)
      const last = await exchange(await exchange(begin(person, third), second), first)
      for (const each of [one, two, beside, last]) await goesOn(each, 'before')
      await shutOut(first, person)
      for (const each of [one, two]) await endsEverywhere(each, `the first client is ${what}`)
      await goesOn(beside, 'a token that did not pass it')
      await shutOut(second, person)
      for (const each of [beside, last]) await endsEverywhere(each, `the second client is ${what}`)
    })

  clause('TOK-160', rule, async (t) => {
    t.diagnostic('a token that is exchanged while the consent is withdrawn')
    const { database } = service
    const person = await addPerson(service)
    const [first, second] = [await add(), await add()]
    await database.transaction((tx) => consentPermissions(tx, consentOf(first, person.id)))
    const token = begin(person, first)
    let late = ''
    await database.transaction(async (tx) => {
      await withdrawConsent(tx, consentOf(first, person.id))
      late = await exchange(token, second)
    })
    await endsEverywhere(late, 'exchanged before the commit')
  })

  test('a claim of another form makes no token', async () => {
    const { claimsFor, signToken } = service.tokens
    const { id } = await addPerson(service)
    const claims = {
      ...claimsFor({ principal: id, permissions: [permission] }),
      ...issuedNow(),
    }
    assert.equal(await statusOf(signToken(claims)), 200)
    const [appid, iat_ms] = [service.tokens.shared.appId, Date.now()]
    for (const claim of [null, '', {}, [null], ['x'], [{ appid }], [{ iat_ms }], [{ appid: 1, iat_ms }]])
      assert.equal(await statusOf(signToken({ ...claims, [exchangedTokensClaim]: claim })), 401)
  })

  clause(
    'TOK-161',
    'A write that is under way while a client on the way of its exchanged token is shut out is refused with 403, …',
    async () => {
      const { database } = service
      const person = await addPerson(service)
      const [first, second] = [await add(), await add()]
      const token = await exchange(begin(person, first), second)
      const refused = await askDuring(
        service,
        async (tx) => {
          await tx`
            update directory_object set properties = properties || '{"accountEnabled": false}'
            where id = ${first.servicePrincipalId}`
          await tx`select from directory_object where id = ${person.id} for update`
        },
        () => service.request('PATCH', '/v1.0/me', { token, body: { aboutMe: 'Late' } }),
      )
      assert.equal(refused.status, 403, refused.text)
      const [row] = await database.sql<{ text: string | null }[]>`
        select properties ->> 'aboutMe' as text from directory_object where id = ${person.id}`
      assert.equal(row?.text, null)
    },
  )
})
