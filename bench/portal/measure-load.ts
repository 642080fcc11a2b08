import type { Browser, BrowserContext, Page } from 'playwright-core'
import { signIn } from '../../test/support/portal.ts'
import type { Place } from './open-filled.ts'

/** Bytes of script on the wire until the first page stands, in a browser that has nothing of it yet. */
export async function measureScript(browser: Browser, { origin, person }: Place): Promise<number> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  const scripts = new Map<string, number>()
  const byRequest = new Map<string, string>()
  await session.send('Network.enable')
  session.on('Network.responseReceived', ({ requestId, response, type }) => {
    if (type === 'Script') byRequest.set(requestId, response.url)
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const url = byRequest.get(requestId)
    if (url) scripts.set(url, Math.max(scripts.get(url) ?? 0, encodedDataLength))
  })
  await page.goto(origin)
  await signIn(page, person)
  await page.locator('#content h1').waitFor()
  await page.waitForLoadState('networkidle')
  await context.close()
  return [...scripts.values()].reduce((sum, bytes) => sum + bytes, 0)
}

export interface Load {
  /** Until the page stands and its thread is free: a click would be answered. */
  readonly interactiveMs: number
  /** Until the page shows figures of the service. */
  readonly filledMs: number
  /** Processor time of the page's thread until then. */
  readonly threadMs: number
  /** Requests that waited for one another until then, the page's own among them. */
  readonly chained: number
}

interface Signs {
  readonly standing: (page: Page) => Promise<unknown>
  readonly filled: (page: Page) => Promise<unknown>
}

export async function measureLoad(
  context: BrowserContext,
  address: string,
  { standing, filled }: Signs,
): Promise<Load> {
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const startedAt = performance.now()
  await page.goto(address, { waitUntil: 'commit' })
  await standing(page)
  await page.evaluate('new Promise((resolve) => requestIdleCallback(resolve))')
  const interactiveMs = performance.now() - startedAt
  await filled(page)
  const filledMs = performance.now() - startedAt
  const { metrics } = await session.send('Performance.getMetrics')
  const threadMs = 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
  const chained = Number(await page.evaluate(countChained))
  await page.close()
  return { interactiveMs, filledMs, threadMs, chained }
}

/** The longest row of requests that each began after the one before had ended; files of the browser's cache do not count. */
const countChained = `(() => {
  const asked = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter((one) => one.transferSize > 0)
    .sort((a, b) => a.startTime - b.startTime)
  const lengths = []
  for (const [at, one] of asked.entries()) {
    const before = lengths.filter((_, earlier) => asked[earlier].responseEnd <= one.startTime)
    lengths[at] = Math.max(0, ...before) + (one.redirectEnd > 0 ? 2 : 1)
  }
  return Math.max(0, ...lengths)
})()`
