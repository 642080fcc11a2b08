// Writes the pictures of docs/portal.md from a running service with the sample shop:
// node scripts/portal-screenshots.ts ORIGIN USER PASSWORD [PAGE …]. A person who is exempt gets the preview with raw values.
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const shop = '/databases/demo/demo/embedded/shop'
const pages: Readonly<Record<string, string>> = {
  overview: '/',
  data: `${shop}/data?schema=public&table=customers&column=first_name`,
  rules: `${shop}/rules`,
  exposures: `${shop}/exposures`,
  activity: `${shop}/activity`,
  query: `${shop}/query`,
}
const [origin = '', user = '', password = '', ...wanted] = process.argv.slice(2)
const folder = join(import.meta.dirname, '../docs/portal')

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
await page.goto(origin)
await page.getByLabel('User name').fill(user)
await page.getByLabel('Password').fill(password)
await page.getByRole('button', { name: 'Sign in' }).click()
await page.locator('#content h1').waitFor()
for (const name of wanted.length > 0 ? wanted : Object.keys(pages)) {
  await page.goto(origin + pages[name])
  await page.locator('#content h1').waitFor()
  if (name === 'query') {
    const editor = page.getByRole('textbox', { name: 'SQL statement' })
    await editor.fill('select id, first_name, email, ssn, city from customers order by id')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('region', { name: 'Results' }).waitFor()
  }
  await page.waitForLoadState('networkidle')
  await page.screenshot({ path: join(folder, `${name}.png`) })
}
await browser.close()
