import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import * as oidc from 'openid-client'
import pino from 'pino'
import { registerApplication } from '../../../src/directory/applications/registrations.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, signIn, singlePage } from '../../support/sign-in.ts'

describe('what the token service keeps to itself', () => {
  let service: TestService
  const lines: string[] = []
  const console = {
    log: globalThis.console.log,
    info: globalThis.console.info,
    warn: globalThis.console.warn,
  }

  before(async () => {
    for (const name of ['log', 'info', 'warn'] as const)
      globalThis.console[name] = (...words: unknown[]) => void lines.push(words.join(' '))
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
    service = await startTestService({}, log)
    trustService(service)
  })
  after(async () => {
    Object.assign(globalThis.console, console)
    await service[Symbol.asyncDispose]()
  })

  clause(
    'TOK-65',
    'No password, secret, code, token or session cookie appears in the log, in an error or in…',
    async () => {
      const person = await addPerson(service)
      const consented = ['openid', 'offline_access', 'User.Read']
      const { appId } = await addApplication(service, { properties: singlePage, consented })
      const confidential = await addApplication(service)
      const answers: string[] = []

      const browser = new Browser('https://client.example')
      const { url, exchange, config } = await beginSignIn(service, appId, 'openid offline_access User.Read')
      const page = await browser.open(url)
      const wrong = { user: person.userPrincipalName, password: 'Wrong-but-mine-1' }
      answers.push((await browser.submit(page, wrong)).html)
      const done = await signIn(browser, page, person)
      const tokens = await exchange(done)
      const rotated = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')

      const ask = async (parameters: Record<string, string>, path = 'token') => {
        const at = `${service.origin}/${service.tenantId}/oauth2/v2.0/${path}`
        const response = await fetch(at, { method: 'POST', body: new URLSearchParams(parameters) })
        answers.push(await response.text())
      }
      const client = { client_id: confidential.appId, client_secret: 'mq_wrong-but-a-secret' }
      await ask({ grant_type: 'client_credentials', ...client })
      await ask({
        grant_type: 'password',
        ...client,
        username: person.userPrincipalName,
        password: person.password,
      })
      await ask({ grant_type: 'refresh_token', client_id: appId, refresh_token: 'stolen-refresh-token' })
      await ask({
        grant_type: 'authorization_code',
        client_id: appId,
        code: 'stolen-code',
        redirect_uri: 'https://x',
      })
      await ask({ client_id: appId, token: rotated.refresh_token ?? '' }, 'revoke')
      const metrics = await (await fetch(`${service.origin}/metrics`)).text()

      const secrets = [
        person.password,
        wrong.password,
        client.client_secret,
        confidential.secret,
        'stolen-refresh-token',
        'stolen-code',
        done.url.searchParams.get('code') ?? '',
        tokens.access_token,
        tokens.id_token ?? '',
        tokens.refresh_token ?? '',
        rotated.refresh_token ?? '',
        // The sign-in's own id stands in the address of its page; the session's cookie is the secret.
        ...browser.cookies.filter(({ name }) => name.includes('session')).map(({ value }) => value),
      ]
      const everything = [...lines, ...answers, metrics].join('\n')
      for (const secret of secrets) {
        assert.ok(secret.length > 8)
        assert.equal(everything.includes(secret), false, secret)
      }
      assert.match(everything, /sign-in failed/)
      // The library has no complaints about how it is set up.
      assert.deepEqual(
        lines.filter((line) => !line.startsWith('{')),
        [],
      )
      assert.match(metrics, /masquerade_http_requests_total\{operation="tokens"/)
      assert.doesNotMatch(metrics, new RegExp(person.userPrincipalName))
    },
  )

  clause('TOK-66', 'An unexpected failure reveals nothing to the caller; its cause is logged.', async () => {
    lines.length = 0
    await service.database.sql`alter table application_secret rename to application_secret_away`
    try {
      const { appId } = await service.database.transaction((tx) =>
        registerApplication(tx, service.tenantId, { displayName: 'Without a secret' }),
      )
      const response = await fetch(`${service.origin}/${service.tenantId}/oauth2/v2.0/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: appId,
          client_secret: 'mq_never-shown',
        }),
      })
      const text = await response.text()
      assert.equal(response.status, 500)
      assert.doesNotMatch(text, /application_secret|select|mq_never/)
      const logged = lines.join('\n')
      assert.match(logged, /unexpected error in the token service/)
      assert.doesNotMatch(logged, /mq_never-shown/)
    } finally {
      await service.database.sql`alter table application_secret_away rename to application_secret`
    }
  })
})
