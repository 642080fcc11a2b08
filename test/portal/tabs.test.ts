import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { firstPartyApplications } from '../../src/auth/first-party.ts'
import { clause } from '../support/clause.ts'
import { addPerson } from '../support/issuer.ts'
import { checkAccessible, follow, shopPage, signIn, skipReason, usePortal } from '../support/portal.ts'
import { holdsFor, waitUntil } from '../support/wait-until.ts'

interface TokenAnswer {
  readonly access_token?: string
  readonly refresh_token?: string
}

const tokenPath = '**/oauth2/v2.0/token'
const apiPath = /^\/(v1\.0|providers|subscriptions)\b/

function accountIn(page: Page) {
  return page.getByRole('button', { name: /^Account of/ })
}

function signedOutIn(page: Page) {
  return page.getByRole('heading', { name: 'You are signed out' })
}

/** Presses the portal's own button, and that of the token service. */
async function signOut(page: Page): Promise<void> {
  await accountIn(page).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await signedOutIn(page).waitFor()
}

/** The answers of the token service to a tab, as they come. */
function collectTokens(page: Page): TokenAnswer[] {
  const answers: TokenAnswer[] = []
  page.on('response', async (response) => {
    if (response.url().endsWith('/oauth2/v2.0/token')) answers.push((await response.json()) as TokenAnswer)
  })
  return answers
}

/** The refresh tokens that a tab revokes. */
function collectRevoked(page: Page): (string | null)[] {
  const revoked: (string | null)[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/oauth2/v2.0/revoke'))
      revoked.push(new URLSearchParams(request.postData() ?? '').get('token'))
  })
  return revoked
}

/** Requests of a tab to the APIs and for tokens. */
function collectCalls(page: Page): string[] {
  const calls: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (apiPath.test(pathname) || /\/(token|authorize)$/.test(pathname)) calls.push(pathname)
  })
  return calls
}

describe('tabs of the portal in one browser', { skip: skipReason ?? false }, () => {
  const portal = usePortal()

  /** Twelve hours later: the session of the browser has ended, and its tabs still renew their tokens. */
  const endBrowserSessions = () => portal.service().database.sql`
    update oidc_state set expires_at = now() where model = 'Session'`

  /** Another tab of the browser, in which the person signs in by name and password. */
  const signInBeside = async (page: Page, person: Parameters<typeof signIn>[1]) => {
    await endBrowserSessions()
    const other = await page.context().newPage()
    await other.goto(portal.service().origin)
    await signIn(other, person)
    await accountIn(other).waitFor()
    return other
  }

  const assertEnded = async ({ access_token: token = '', refresh_token = '' }: TokenAnswer = {}) => {
    const { origin, tenantId } = portal.service()
    const refresh = async () => {
      const response = await fetch(`${origin}/${tenantId}/oauth2/v2.0/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          refresh_token,
          client_id: firstPartyApplications.portal.appId,
        }),
      })
      return ((await response.json()) as { error?: string }).error
    }
    await waitUntil('the refresh token is revoked', async () => (await refresh()) === 'invalid_grant')
    const { status } = await portal.service().request('GET', '/v1.0/me', { token })
    assert.equal(status, 401)
  }

  clause(
    'TOK-142',
    'A sign-out in one tab of the portal ends every other tab of the browser at that address, also one that…',
    async () => {
      await using opened = await portal.visit()
      const { page } = opened
      const answers = collectTokens(page)
      await page.goto(
        `${portal.service().origin}${shopPage}/data?schema=public&table=customers&column=last_name`,
      )
      await signIn(page, portal.administrator())
      await page.getByLabel('Filler').fill('~~~')
      const drafts = () =>
        page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('masquerade.draft'))")
      assert.notDeepEqual(await drafts(), [])
      await signOut(await signInBeside(page, portal.administrator()))
      await signedOutIn(page).waitFor()
      assert.equal(await page.locator('#content').count(), 0)
      assert.equal(await page.title(), 'Masquerade')
      assert.deepEqual(await drafts(), [])
      await checkAccessible(page)
      await assertEnded(answers.at(-1))
    },
  )

  clause(
    'TOK-144',
    'A tab of the portal that hears nothing of a sign-out or of the sign-in of another person, because the browser…',
    async () => {
      const olga = await addPerson(portal.service(), { displayName: 'Olga Other' })
      const late = Promise.withResolvers<void>()
      const wakings: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
        'the person comes back': (page) => page.evaluate("dispatchEvent(new Event('focus'))"),
        'the page reads more': (page) => follow(page, '/people'),
        'an answer says 401': async () => late.resolve(),
      }
      for (const [waking, wake] of Object.entries(wakings)) {
        await using opened = await portal.visit()
        const { page, faults } = opened
        const isRefused = waking === 'an answer says 401'
        await page.addInitScript("addEventListener('storage', (event) => event.stopImmediatePropagation())")
        const answers = collectTokens(page)
        const asked = collectCalls(page)
        await page.goto(`${portal.service().origin}/databases`)
        await signIn(page, portal.administrator())
        await page.getByRole('cell', { name: 'shop', exact: true }).waitFor()
        if (isRefused) {
          await page.route('**/v1.0/**', async (route) => {
            await late.promise
            await route.fulfill({ status: 401, json: {} })
          })
          asked.length = 0
          await follow(page, '/people')
          await waitUntil('a request is under way', () => asked.length > 0)
        }
        const other = await signInBeside(page, olga)
        await holdsFor(300, 'the first tab sleeps', () => accountIn(page).isVisible())
        asked.length = 0
        await wake(page)
        await signedOutIn(page).waitFor()
        assert.deepEqual(asked, [], waking)
        assert.equal(await page.locator('#content').count(), 0)
        await assertEnded(answers.at(-1))
        await follow(other, '/databases')
        await other.getByRole('heading', { level: 1, name: 'Databases' }).waitFor()
        await other.getByRole('button', { name: 'Account of Olga Other' }).waitFor()
        // The browser itself writes a line about every refusal.
        if (isRefused)
          assert.match(faults.splice(0).join(), /^(error: Failed to load resource: .* 401 [^,]*,?)+$/)
      }
    },
  )

  clause(
    'TOK-147',
    'A tab of the portal that slept while its person signed out and in again ends as well (TOK-144): its tokens are of the…',
    async () => {
      await using opened = await portal.visit()
      const { page } = opened
      await page.addInitScript("addEventListener('storage', (event) => event.stopImmediatePropagation())")
      const answers = collectTokens(page)
      const asked = collectCalls(page)
      await page.goto(`${portal.service().origin}/databases`)
      await signIn(page, portal.administrator())
      await page.getByRole('cell', { name: 'shop', exact: true }).waitFor()
      const wake = () => page.evaluate("dispatchEvent(new Event('focus'))")

      // In a later session of the browser, but without a sign-out in between.
      const other = await signInBeside(page, portal.administrator())
      await wake()
      await follow(page, '/people')
      await page.getByRole('heading', { level: 1, name: 'People' }).waitFor()
      await accountIn(page).waitFor()

      await signOut(other)
      const next = await signInBeside(page, portal.administrator())
      await holdsFor(300, 'the first tab sleeps', () => accountIn(page).isVisible())
      asked.length = 0
      await wake()
      await signedOutIn(page).waitFor()
      assert.deepEqual(asked, [])
      assert.equal(await page.locator('#content').count(), 0)
      await assertEnded(answers.at(-1))
      await follow(next, '/databases')
      await next.getByRole('cell', { name: 'shop', exact: true }).waitFor()
    },
  )

  clause(
    'TOK-145',
    'Tokens of a person that reach a tab of the portal after that person signed out in another tab, or another person…',
    async () => {
      const olga = await addPerson(portal.service(), { displayName: 'Olga Other' })
      await using opened = await portal.visit()
      const { page } = opened
      const revoked = collectRevoked(page)
      /** Holds the answers to one kind of grant; others tell of tokens that have to be renewed at once. */
      const holdAnswers = async (held: string) => {
        const answers: TokenAnswer[] = []
        const released = Promise.withResolvers<void>()
        await page.unrouteAll()
        await page.route(tokenPath, async (route) => {
          const grant = new URLSearchParams(route.request().postData() ?? '').get('grant_type')
          const response = await route.fetch()
          const body = (await response.json()) as TokenAnswer
          if (grant === held) {
            answers.push(body)
            await released.promise
          }
          await route.fulfill({ response, json: grant === held ? body : { ...body, expires_in: 60 } })
        })
        return { answers, release: released.resolve }
      }

      const refresh = await holdAnswers('refresh_token')
      await page.goto(portal.service().origin)
      await signIn(page, portal.administrator())
      await waitUntil('a refresh is under way', () => refresh.answers.length > 0)
      await signOut(await signInBeside(page, portal.administrator()))
      await waitUntil('the token of the tab is revoked', () => revoked.length > 0)
      const asked = collectCalls(page)
      refresh.release()
      await waitUntil('the late token too', () => revoked.includes(refresh.answers[0]?.refresh_token ?? ''))
      await holdsFor(300, 'the tab asks for nothing more', () => asked.length === 0)
      await signedOutIn(page).waitFor()
      await assertEnded(refresh.answers[0])

      await page.unrouteAll()
      await page.goto(portal.service().origin)
      await signIn(page, portal.administrator())
      await accountIn(page).waitFor()
      const code = await holdAnswers('authorization_code')
      await page.reload()
      await waitUntil('a sign-in is under way', () => code.answers.length > 0)
      const other = await signInBeside(page, olga)
      asked.length = 0
      code.release()
      await signedOutIn(page).waitFor()
      assert.deepEqual(asked, [])
      await assertEnded(code.answers[0])
      const [owner] = String(await other.evaluate("localStorage.getItem('masquerade.person')")).split(' ')
      assert.equal(owner, olga.id)
      await other.getByRole('button', { name: 'Account of Olga Other' }).waitFor()
    },
  )

  clause(
    'TOK-146',
    'A link to the portal ends no tab: after a sign-out the token service returns to an address with a random value…',
    async () => {
      await using opened = await portal.visit()
      const { page } = opened
      const { origin } = portal.service()
      const visited: string[] = []
      const linked = await page.context().newPage()
      linked.on('framenavigated', (frame) => visited.push(frame.url()))
      await page.goto(origin)
      await signIn(page, portal.administrator())
      await accountIn(page).waitFor()
      await linked.goto(`${origin}/?state=signed-out`)
      await accountIn(linked).waitFor()
      await signOut(linked)
      await signedOutIn(page).waitFor()

      const returned = visited.filter((address) => URL.parse(address)?.searchParams.has('state')).at(-1) ?? ''
      await page.getByRole('button', { name: 'Sign in' }).click()
      await signIn(page, portal.administrator())
      await accountIn(page).waitFor()
      for (const tab of [linked, await page.context().newPage()]) {
        await tab.goto(returned)
        await accountIn(tab).waitFor()
      }
      await follow(page, '/databases')
      await page.getByRole('cell', { name: 'shop', exact: true }).waitFor()
    },
  )
})
