import * as oidc from 'openid-client'
import type { Browser, Page } from './browser.ts'
import type { Person } from './issuer.ts'
import type { TestService } from './service.ts'

export const redirectUri = 'https://client.example/callback'
export const singlePage = { spa: { redirectUris: [redirectUri] } }

/** An authorization request of a public client, and how it redeems the code. */
export async function beginSignIn(
  service: TestService,
  appId: string,
  scope: string,
  more: Record<string, string> = {},
) {
  const issuer = new URL(service.auth.identity.issuer())
  const config = await oidc.discovery(issuer, appId, undefined, oidc.None())
  const codeVerifier = oidc.randomPKCECodeVerifier()
  const state = oidc.randomState()
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope,
    state,
    code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...more,
  })
  const exchange = (page: Page) =>
    oidc.authorizationCodeGrant(config, page.url, {
      pkceCodeVerifier: codeVerifier,
      expectedState: state,
      idTokenExpected: scope.split(' ').includes('openid'),
    })
  return { config, url, exchange }
}

export function signIn(browser: Browser, page: Page, { userPrincipalName, password }: Person): Promise<Page> {
  return browser.submit(page, { user: userPrincipalName, password })
}
