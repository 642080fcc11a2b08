import assert from 'node:assert/strict'
import { describe } from 'node:test'
import pino from 'pino'
import { startService } from '../../src/main.ts'
import { ensurePortal } from '../../src/portal/build-portal.ts'
import { readSettings } from '../../src/settings.ts'
import { clause } from '../support/clause.ts'
import { checkAccessible, shopPage, skipReason, usePortal } from '../support/portal.ts'
import { waitUntil } from '../support/wait-until.ts'

describe('the portal while the service is stopped', { skip: skipReason ?? false }, () => {
  const portal = usePortal()

  /** The service of the file once more, where it was. */
  const startAgain = async () => {
    const { dataDir, databaseUrl, listeners } = portal.service()
    const portalFolder = await ensurePortal()
    const settings = readSettings({
      MASQUERADE_DATA_DIR: dataDir,
      MASQUERADE_DATABASE_URL: databaseUrl,
      MASQUERADE_HTTP_PORT: String(listeners.httpPort),
      MASQUERADE_HTTPS_PORT: String(listeners.httpsPort),
      MASQUERADE_GATEWAY_PORT: '0',
      MASQUERADE_GATEWAY_WORKERS: '1',
    })
    return startService({
      settings,
      log: pino({ level: 'silent' }),
      ...(portalFolder !== undefined && { portalFolder }),
    })
  }

  clause(
    'SVC-104',
    'Where the file of a page cannot be loaded, because the service does not answer, the portal says so and stays on the present page with all that was typed there. The page opens by Try again once the service answers.',
    async () => {
      const draft = `${shopPage}/data?schema=public&table=customers&column=last_name`
      await using opened = await portal.open(portal.administrator(), draft)
      const { page, faults } = opened
      await page.getByLabel('Filler').fill('~~~')
      await portal.service().stop()
      await page.getByRole('link', { name: 'Audit' }).click()
      const message = page.locator('.toast').filter({ hasText: 'The service does not answer' })
      await message.waitFor()
      assert.ok(page.url().endsWith(draft))
      assert.equal(await page.getByLabel('Filler').inputValue(), '~~~')
      await checkAccessible(page)
      const service = await startAgain()
      try {
        await message.getByRole('button', { name: 'Try again' }).click()
        await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor()
        assert.equal(await message.count(), 0)
        const styled = "getComputedStyle(document.querySelector('.audit-filters')).display === 'grid'"
        await waitUntil('the style sheet of the page', () => page.evaluate(styled))
      } finally {
        await service.stop()
        // The browser itself writes a line about every file that it does not get.
        faults.length = 0
      }
    },
  )
})
