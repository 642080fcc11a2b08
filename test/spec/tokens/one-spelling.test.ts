import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { addApplication } from '../../support/issuer.ts'
import { rawSender } from '../../support/raw-request.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { redirectUri, singlePage } from '../../support/sign-in.ts'

const uid = 'aaaaaaaaaaaaaaaaaaaaa'

/** The endpoints, each with a method that it takes. */
const endpoints: [string, string][] = [
  ['GET', '/oauth2/v2.0/authorize'],
  ['GET', `/oauth2/v2.0/authorize/${uid}`],
  ['GET', `/oauth2/v2.0/sign-in/${uid}`],
  ['POST', `/oauth2/v2.0/sign-in/${uid}`],
  ['POST', '/oauth2/v2.0/token'],
  ['POST', '/oauth2/v2.0/devicecode'],
  ['GET', '/oauth2/v2.0/device'],
  ['POST', '/oauth2/v2.0/device'],
  ['GET', `/oauth2/v2.0/device/${uid}`],
  ['POST', '/oauth2/v2.0/revoke'],
  ['GET', '/oauth2/v2.0/logout'],
  ['POST', '/oauth2/v2.0/logout/confirm'],
  ['GET', '/oauth2/v2.0/logout/success'],
  ['GET', '/discovery/v2.0/keys'],
]

describe('the spelling of endpoints', () => {
  let service: TestService
  let appId: string
  let sender: ReturnType<typeof rawSender>

  before(async () => {
    service = await startTestService()
    appId = (await addApplication(service, { properties: singlePage })).appId
    sender = rawSender(service.origin)
  })
  after(async () => {
    sender.close()
    await service[Symbol.asyncDispose]()
  })

  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const statusOf = async (method: string, path: string, body = '') =>
    (await sender.send(method, path, method === 'POST' ? form : {}, body)).status
  const countState = async () => (await service.database.sql`select from oidc_state`).length

  clause(
    'TOK-131',
    'Each endpoint has one spelling behind the tenant. A path that differs in case, by a slash at the end, a double slash or encoded characters is 404; nothing is stored for it, and no limit is passed by it.',
    async () => {
      const prefixes = ['', '/common', '/Common', '/organizations', `/${service.tenantId}`]
      for (const prefix of prefixes)
        for (const [method, path] of endpoints)
          assert.notEqual(await statusOf(method, prefix + path), 404, `${method} ${prefix}${path}`)
      const stored = await countState()
      for (const prefix of prefixes)
        for (const [method, path] of endpoints)
          for (const other of otherSpellings(path))
            assert.equal(await statusOf(method, prefix + other), 404, `${method} ${prefix}${other}`)
      const long = new URLSearchParams({
        client_id: appId,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid',
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
        state: 's'.repeat(8192),
      })
      for (const name of ['Authorize', 'authorize/', 'AUTHORIZE', 'Logout', 'logout/'])
        assert.equal(await statusOf('GET', `/common/oauth2/v2.0/${name}?${long}`), 404, name)
      for (const name of ['DeviceCode', 'devicecode/'])
        assert.equal(await statusOf('POST', `/common/oauth2/v2.0/${name}`, `${long}`), 404, name)
      assert.equal(await countState(), stored)

      const browser = new Browser()
      const page = await browser.open(`${service.origin}/common/oauth2/v2.0/device`)
      for (const name of ['device/', 'Device']) {
        const html = page.html.replace(/(action="[^"]*)\/device"/, `$1/${name}"`)
        const guess = { user_code: 'BBBB-BBBB' }
        assert.equal((await browser.submit({ ...page, html }, guess)).status, 404, name)
        assert.equal(
          (await browser.submit({ ...page, html }, guess, { 'sec-fetch-site': 'cross-site' })).status,
          404,
          name,
        )
      }
      assert.equal((await browser.submit(page, { user_code: 'BBBB-BBBB' })).status, 200)
    },
  )
})

/** Paths that a router may take for the same; the part before the version is another service's where it differs. */
function otherSpellings(path: string): string[] {
  const [, , version, ...names] = path.split('/')
  const base = `${path.slice(0, path.indexOf(`/${version}`))}/${version}`
  const rest = names.join('/')
  const [first = ''] = rest
  const code = first.charCodeAt(0).toString(16)
  return [
    `${base}/${first.toUpperCase()}${rest.slice(1)}`,
    `${base}/${rest.replace(/^[^/]*/, (name) => name.toUpperCase())}`,
    `${base}/${rest}/`,
    `${base}/${rest}//`,
    `${base}//${rest}`,
    `${base}/./${rest}`,
    `${base}/%${code}${rest.slice(1)}`,
    `${base}/${rest}%2f`,
    `${base}/${rest}%00`,
    `${base}/${rest};x`,
    `${base}/${rest}\\`,
    `${base}/${rest}#x`,
  ]
}
