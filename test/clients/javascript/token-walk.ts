// Walks through the token service with @azure/msal-node, jwks-rsa and jsonwebtoken as they are.
import { Browser } from '../../support/browser.ts'
import { signIn, signInDevice } from '../../support/sign-in.ts'
import { check, clientId, load, origin, readVariable, secret, tellVersions, tenant } from './walk.ts'

const { ConfidentialClientApplication, CryptoProvider, PublicClientApplication } = load('@azure/msal-node')
const person = {
  id: readVariable('WALK_PERSON_ID'),
  userPrincipalName: readVariable('WALK_PERSON'),
  password: readVariable('WALK_PASSWORD'),
}
const redirectUri = readVariable('WALK_REDIRECT')
const authority = `${origin}/${tenant}`
const knownAuthorities = [new URL(origin).host]
const scopes = ['https://graph.microsoft.com/User.Read']

/** The addresses that msal asked for. */
const asked: string[] = []
const send = async (method: string, url: string, { headers, body }: Record<string, never> = {}) => {
  asked.push(url)
  const answer = await fetch(url, { method, headers: headers ?? {}, body: body ?? null })
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.json() }
}
const networkClient = {
  sendGetRequestAsync: (url: string, options?: Record<string, never>) => send('GET', url, options),
  sendPostRequestAsync: (url: string, options?: Record<string, never>) => send('POST', url, options),
}
const confidential = () =>
  new ConfidentialClientApplication({
    auth: { clientId, clientSecret: secret, authority, knownAuthorities },
    system: { networkClient },
  })

await walkApplication()
const token = await signInOnDevice()
await exchange(token)
await signInByCode()
await verify(token)
tellVersions('@azure/msal-node', 'jwks-rsa', 'jsonwebtoken')

async function read(path: string, accessToken: string) {
  const answer = await fetch(origin + path, { headers: { authorization: `Bearer ${accessToken}` } })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

async function walkApplication(): Promise<void> {
  const application = confidential()
  const wanted = { scopes: ['https://graph.microsoft.com/.default'] }
  const first = await application.acquireTokenByClientCredential(wanted)
  check('msal gets a token', (await read('/v1.0/users?$top=1', first.accessToken)).status === 200)
  const count = asked.length
  const again = await application.acquireTokenByClientCredential(wanted)
  check('msal takes the second from its cache', again.fromCache && asked.length === count, asked.slice(count))
}

async function signInOnDevice(): Promise<string> {
  const application = new PublicClientApplication({
    auth: { clientId: readVariable('WALK_PUBLIC_CLIENT'), authority, knownAuthorities },
    system: { networkClient },
  })
  const deviceCodeCallback = async ({ verificationUri, userCode }: Record<string, string>) => {
    const browser = new Browser()
    const page = await browser.submit(await browser.open(verificationUri ?? ''), {
      user_code: userCode ?? '',
    })
    await signInDevice(browser, await browser.submit(page, { confirm: 'yes' }), person)
  }
  const first = await application.acquireTokenByDeviceCode({ scopes, deviceCodeCallback })
  check('msal signs in by a device', first.account.username === person.userPrincipalName, first)
  check('the token works', (await read('/v1.0/me', first.accessToken)).body.id === person.id)
  const count = asked.length
  const again = await application.acquireTokenSilent({ scopes, account: first.account })
  check('msal keeps the token of a person', again.fromCache && asked.length === count, asked.slice(count))
  const fresh = await application.acquireTokenSilent({ scopes, account: first.account, forceRefresh: true })
  check('msal refreshes', !fresh.fromCache && fresh.accessToken !== first.accessToken)
  return fresh.accessToken
}

async function exchange(oboAssertion: string): Promise<void> {
  const application = confidential()
  const first = await application.acquireTokenOnBehalfOf({ scopes, oboAssertion })
  check('msal gets a token on behalf of a person', first.account.localAccountId === person.id, first.account)
  const { body } = await read(`/${tenant}/oidc/userinfo`, first.accessToken)
  check('userinfo tells who signed in', body.sub === person.id && body.email === 'ada@example.com', body)
  const again = await application.acquireTokenOnBehalfOf({ scopes, oboAssertion })
  check('msal keeps the exchanged token', again.fromCache)
}

async function signInByCode(): Promise<void> {
  const application = confidential()
  const { verifier, challenge } = await new CryptoProvider().generatePkceCodes()
  const state = 'a state'
  const url = await application.getAuthCodeUrl({
    scopes,
    redirectUri,
    state,
    codeChallenge: challenge,
    codeChallengeMethod: 'S256',
  })
  const browser = new Browser(new URL(redirectUri).origin)
  const { searchParams } = (await signIn(browser, await browser.open(url), person)).url
  check('the state comes back', searchParams.get('state') === state, [...searchParams])
  const code = searchParams.get('code')
  const answer = await application.acquireTokenByCode({ scopes, redirectUri, code, codeVerifier: verifier })
  check('msal redeems a code', answer.idTokenClaims.oid === person.id, answer.idTokenClaims)
}

/** As an API of one's own would, with the published keys. */
async function verify(accessToken: string): Promise<void> {
  const jwt = load('jsonwebtoken')
  const { JwksClient } = load('jwks-rsa')
  const answer = await fetch(`${authority}/v2.0/.well-known/openid-configuration`)
  const document = (await answer.json()) as { jwks_uri: string; issuer: string }
  const keys = new JwksClient({ jwksUri: document.jwks_uri })
  const key = await keys.getSigningKey(jwt.decode(accessToken, { complete: true }).header.kid)
  const claims = jwt.verify(accessToken, key.getPublicKey(), {
    algorithms: ['ES256'],
    issuer: document.issuer,
    audience: origin,
  })
  check('jsonwebtoken and jwks-rsa trust an access token', claims.oid === person.id, claims)
}
