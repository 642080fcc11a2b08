// Writes the pictures of docs/portal.md from a running service with the sample shop:
// node scripts/portal-screenshots.ts ORIGIN USER PASSWORD [PAGE …]. A person who is exempt gets the preview with raw values,
// and one with a database role the results of the query. FOLDER in the environment puts the pictures elsewhere.
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'

interface Picture {
  readonly path: string
  /** Brings the page to where it says something. */
  readonly prepare?: (page: Page) => Promise<void>
  readonly height?: number
  readonly isDark?: boolean
}

const shop = '/databases/demo/demo/embedded/shop'
const pictures: Readonly<Record<string, Picture>> = {
  overview: { path: '/', prepare: waitForReads },
  data: {
    path: `${shop}/data?schema=public&table=customers&column=first_name`,
    prepare: waitForPreview,
    height: 960,
  },
  rules: { path: `${shop}/rules` },
  exposures: { path: `${shop}/exposures` },
  activity: { path: `${shop}/activity` },
  query: { path: `${shop}/query`, prepare: runQuery, isDark: true },
}
const [origin = '', user = '', password = '', ...wanted] = process.argv.slice(2)
const folder = process.env.FOLDER ?? join(import.meta.dirname, '../docs/portal')

/** Where no role has read masked columns through the gateway, the overview has no chart. */
async function waitForReads(page: Page): Promise<void> {
  const none = page.getByText('Nobody has read masked columns yet')
  await page.locator('canvas').or(none).waitFor()
}

async function waitForPreview(page: Page): Promise<void> {
  const none = page.getByText('You see what everyone else sees.')
  await page.getByText('raw → draft').or(none).waitFor()
}

async function runQuery(page: Page): Promise<void> {
  const editor = page.getByRole('textbox', { name: 'SQL statement' })
  await editor.fill(
    'select c.first_name, c.email, c.ssn, count(*) as orders\nfrom customers c join orders o on o.customer_id = c.id\ngroup by c.id, c.first_name, c.email, c.ssn order by orders desc, c.id limit 40',
  )
  await page.getByRole('button', { name: 'Run' }).click()
  const none = page.getByText('No database role is mapped to you here')
  await page.getByRole('region', { name: 'Results' }).or(none).waitFor()
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })
await page.goto(origin)
await page.getByLabel('User name').fill(user)
await page.getByLabel('Password').fill(password)
await page.getByRole('button', { name: 'Sign in' }).click()
await page.locator('#content h1').waitFor()
for (const name of wanted.length > 0 ? wanted : Object.keys(pictures)) {
  const picture = pictures[name]
  if (!picture) throw new Error(`no picture is called ${name}`)
  const { path, prepare, height = 800, isDark = false } = picture
  await page.setViewportSize({ width: 1280, height })
  await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' })
  await page.goto(origin + path)
  await page.locator('#content h1').waitFor()
  await prepare?.(page)
  await page.waitForLoadState('networkidle')
  await page.screenshot({ path: join(folder, `${name}.png`) })
}
await browser.close()
