import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { clause } from '../support/clause.ts'
import { fillDirectory } from '../support/directory.ts'
import { checkAccessible, shopPage, shopPath, signIn, skipReason, usePortal } from '../support/portal.ts'
import { holdsFor, waitUntil } from '../support/wait-until.ts'

const customers = `${shopPage}/data?schema=public&table=customers`

/** Holds a file of the portal back until it is released, and tells when the browser has it. */
async function holdBack(page: Page, file: string) {
  const asked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const arrived = page.waitForEvent('requestfinished', (request) => request.url().includes(`/assets/${file}`))
  await page.route(`**/assets/${file}*`, async (route) => {
    asked.resolve()
    await released.promise
    await route.continue()
  })
  return {
    asked: asked.promise,
    async release() {
      released.resolve()
      await arrived
    },
  }
}

/** Fails each request for a file of the portal, and counts them, until `end`. */
async function breakFile(page: Page, file: string) {
  const pattern = `**/assets/${file}-*`
  let count = 0
  await page.route(pattern, async (route) => {
    if (route.request().url().endsWith('.js')) count += 1
    await route.abort()
  })
  return { count: () => count, end: () => page.unroute(pattern) }
}

function readDrafts(page: Page): Promise<unknown> {
  return page.evaluate(
    "JSON.stringify(Object.entries(sessionStorage).filter(([key]) => key.startsWith('masquerade.draft')))",
  )
}

describe('the portal with slow and missing files, and after a reload', { skip: skipReason ?? false }, () => {
  const portal = usePortal()

  clause(
    'SVC-105',
    'The latest navigation of a person wins, by a link or by Back: a page whose file arrives later does not replace…',
    async () => {
      await using opened = await portal.open(portal.administrator(), '/')
      const { page } = opened
      const link = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true })
      const heading = (name: string) => page.getByRole('heading', { level: 1, name })
      const audit = await holdBack(page, 'audit-page')
      await link('Audit').click()
      await audit.asked
      await link('Databases').click()
      await heading('Databases').waitFor()
      await audit.release()
      await holdsFor(500, 'the page of the later click', async () => {
        return page.url().endsWith('/databases') && (await heading('Databases').isVisible())
      })

      const system = await holdBack(page, 'system-page')
      await link('System').click()
      await system.asked
      await page.goBack()
      await heading('Overview').waitFor()
      await system.release()
      await holdsFor(500, 'the page that Back led to', async () => {
        return new URL(page.url()).pathname === '/' && (await heading('Overview').isVisible())
      })
      await link('System').click()
      await heading('System').waitFor()
    },
  )

  clause(
    'SVC-106',
    'Where the file of a part of a page cannot be loaded, the page stays and says so in the place of the part. The part…',
    async () => {
      const directory = fillDirectory(portal.service())
      const [inner, outer] = [await directory.group({ displayName: 'Analysts' }), await directory.group()]
      await directory.join(inner, outer)
      await portal.service().database.sql`
        insert into audit_event (at, tenant_id, actor, action, target, after)
        select now(), tenant_id, '{"kind": "gateway", "objectId": "reporter"}', 'gateway/touch', ${shopPath.toLowerCase()},
          '{"role": "reporter", "statements": []}' from first_start`
      await using opened = await portal.open(portal.administrator(), `/groups/${inner}`)
      const { page, faults } = opened
      const tab = (name: string) =>
        page.getByRole('navigation', { name: 'Analysts' }).getByRole('link', { name })
      const fault = page.getByRole('alert').filter({ hasText: 'The service cannot be reached' })
      const nesting = await breakFile(page, 'group-nesting')
      await tab('Nesting').click()
      await fault.getByRole('button', { name: 'Try again' }).waitFor()
      await page.getByRole('heading', { level: 1, name: 'Analysts' }).waitFor()
      await checkAccessible(page)
      const before = nesting.count()
      await tab('Owners').click()
      await page.getByText('No owner').waitFor()
      assert.equal(nesting.count(), before)
      await tab('Nesting').click()
      await waitUntil('the next showing tries again', () => nesting.count() > before)
      await fault.waitFor()
      await tab('Owners').click()
      await page.getByText('No owner').waitFor()
      await nesting.end()
      await tab('Nesting').click()
      await page.getByRole('link', { name: 'A group' }).waitFor()
      await waitUntil('the style sheet of the drawing', () =>
        page.evaluate(
          "getComputedStyle(document.querySelector('.react-flow__node')).position === 'absolute'",
        ),
      )

      const chart = await breakFile(page, 'chart')
      await page.getByRole('link', { name: 'Overview' }).click()
      await fault.waitFor()
      await page.getByText('Sessions now').waitFor()
      await page.evaluate('window.isSamePage = true')
      await chart.end()
      await fault.getByRole('button', { name: 'Try again' }).click()
      await page.locator('canvas').waitFor()
      assert.equal(await page.evaluate('window.isSamePage'), true)
      // The browser itself writes a line about every file that it does not get, and axe about a style sheet.
      const lines = faults
        .splice(0)
        .filter((line) => !/^error: Failed to load .*ERR_FAILED$|preload assets/.test(line))
      assert.deepEqual(lines, [])
    },
  )

  clause(
    'SVC-107',
    'A reload of a tab keeps drafted masks and the fields of the form that binds a database, but never its password.…',
    async () => {
      await using opened = await portal.visit()
      const { page } = opened
      const { origin } = portal.service()
      await page.goto(`${origin}${customers}&column=last_name`)
      await signIn(page, portal.administrator())
      const filler = page.getByLabel('Filler')
      await filler.fill('~~~')
      await page.reload()
      await page.getByRole('button', { name: 'Mask this column' }).waitFor()
      assert.equal(await filler.inputValue(), '~~~')
      await page.getByRole('button', { name: 'Close the editor' }).click()
      await filler.waitFor({ state: 'detached' })
      assert.equal(await readDrafts(page), '[]', 'a cancelled draft')
      await page.getByRole('button', { name: 'Edit the mask of last_name' }).click()
      await filler.fill('###')
      await page.getByRole('button', { name: 'Mask this column' }).click()
      const drawer = page.getByRole('dialog', { name: 'Mask last_name' })
      await drawer.getByRole('button', { name: 'Apply' }).click()
      await page.getByText('last_name is masked now.', { exact: true }).first().waitFor()
      assert.equal(await readDrafts(page), '[]', 'a stored draft')

      await page.goto(`${origin}${customers}&columns=city,phone`)
      await page.getByLabel('Masking function').selectOption('Text')
      await filler.fill('+++')
      await page.reload()
      await page.getByText('2 columns selected').waitFor()
      assert.equal(await filler.inputValue(), '+++')
      await page.getByRole('checkbox', { name: 'Select city' }).click()
      await page.getByText('1 column selected').waitFor()
      assert.equal(await readDrafts(page), '[]', 'the draft of another selection')

      await page.goto(`${origin}/welcome`)
      await page.getByLabel('Host', { exact: true }).fill('db.example.com')
      await page.getByLabel('Encryption').selectOption('require')
      await page.getByLabel('Password').fill('opensesame')
      await page.getByLabel('User', { exact: true }).fill('binder')
      const kept = await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')
      assert.match(String(kept), /db\.example\.com/)
      assert.doesNotMatch(String(kept), /opensesame/)
      await page.reload()
      await page.getByLabel('Host', { exact: true }).waitFor()
      const fields = ['Host', 'Encryption', 'User', 'Password', 'Port']
      const values = fields.map((label) => page.getByLabel(label, { exact: true }).inputValue())
      assert.deepEqual(await Promise.all(values), ['db.example.com', 'require', 'binder', '', '5432'])
      await checkAccessible(page)
      await page.getByRole('button', { name: 'Clear' }).click()
      assert.equal(await page.getByLabel('Host', { exact: true }).inputValue(), 'localhost')
      assert.equal(await readDrafts(page), '[]', 'a form that was cleared')

      await page.getByLabel('User', { exact: true }).fill('binder')
      await page.evaluate("sessionStorage.setItem('masquerade.draft another binding', '{}')")
      await page.reload()
      await page.getByRole('button', { name: 'Clear' }).waitFor()
      await waitUntil(
        'another person finds no draft',
        async () => !String(await readDrafts(page)).includes('another'),
      )
      await page.getByRole('button', { name: /^Account of/ }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
      assert.equal(await readDrafts(page), '[]', 'a sign-out')
    },
  )
})
