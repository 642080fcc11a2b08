import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Browser } from 'playwright-core'
import { clause } from '../support/clause.ts'
import { administratorOf, launchBrowser, openPage, signIn, skipReason } from '../support/portal.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** The reference is a large script: a busy machine takes its time. */
const readyMs = 60_000

const isAll = process.env.MASQUERADE_TEST_ALL !== undefined

describe('the API reference in a browser', { skip: skipReason ?? false }, () => {
  let service: TestService
  let browser: Browser
  before(async () => {
    ;[service, browser] = await Promise.all([startTestService(), launchBrowser()])
  })
  after(async () => {
    await browser.close()
    await service[Symbol.asyncDispose]()
  })

  clause('SVC-20', '`/docs` is an API reference with search.…', async () => {
    for (const colorScheme of isAll ? (['light', 'dark'] as const) : (['dark'] as const)) {
      await using opened = await openPage(browser, service.origin)
      const { page } = opened
      page.setDefaultTimeout(readyMs)
      await page.emulateMedia({ colorScheme })
      await page.goto(`${service.origin}/docs`)
      await page.getByRole('heading', { name: 'Masquerade' }).waitFor()
      await page.locator(`.${colorScheme}-mode`).first().waitFor()
      await page.keyboard.press('Control+k')
      await page.keyboard.type('create a group')
      await page
        .getByRole('option', { name: /Create a group/ })
        .first()
        .click()
      await page.getByRole('heading', { name: 'Create a group' }).waitFor()
      assert.match(page.url(), /\/docs#.*groups/)
    }
  })

  clause(
    'SVC-21',
    'People sign in to `/docs` at the token service, by authorization code with PKCE and an application of the product…',
    async () => {
      await using opened = await openPage(browser, service.origin)
      const { page } = opened
      page.setDefaultTimeout(readyMs)
      await page.goto(`${service.origin}/docs#tag/users/GET/v1.0/users`)
      const window = page.waitForEvent('popup')
      const exchanged = page.waitForRequest((request) => request.url().endsWith('/oauth2/v2.0/token'))
      await page.getByRole('button', { name: 'Authorize' }).first().click()
      await signIn(await window, administratorOf(service))
      assert.match((await exchanged).postData() ?? '', /code_verifier=/)
      await page
        .getByRole('button', { name: /Test Request\s*\(get \/v1\.0\/users\)/ })
        .first()
        .click()
      const answered = page.waitForResponse((response) => response.url() === `${service.origin}/v1.0/users`)
      await page.getByRole('button', { name: /^Send/ }).first().click()
      assert.equal((await answered).status(), 200)
      const kept = await page.evaluate(
        'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
      )
      assert.doesNotMatch(String(kept), /eyJ|refresh/, 'no token outlives the page')
    },
  )
})
