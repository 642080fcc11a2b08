import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { ensurePortal } from '../../src/portal/build-portal.ts'
import { findProgram } from './find-program.ts'
import type { Person } from './issuer.ts'
import { bindingOf, createMaskedDatabase } from './masked-database.ts'
import { startTestService, type TestService } from './service.ts'

const program = ['chromium', 'chromium-browser', 'google-chrome'].map(findProgram).find(Boolean)

/** Why the tests in a browser are left out on this machine; undefined: they run. */
export const skipReason = program === undefined ? 'no Chromium is installed' : undefined

export const shopPath =
  '/subscriptions/demo/resourceGroups/demo/providers/Vendor.Sql/servers/embedded/databases/shop'
export const shopPage = '/databases/demo/demo/embedded/shop'
const version = 'api-version=2014-04-01'

const rules = {
  'customer-email': { tableName: 'customers', columnName: 'email', maskingFunction: 'Email' },
  'customer-ssn': { tableName: 'customers', columnName: 'ssn', maskingFunction: 'SSN' },
}

type Masked = Awaited<ReturnType<typeof createMaskedDatabase>>

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: program ?? '', args: ['--no-sandbox'] })
}

/** A service with the portal, the sample shop bound to it, and a browser: one of each for a file. */
export function usePortal() {
  let service: TestService | undefined
  let shop: Masked | undefined
  let browser: Browser | undefined
  /** Each person keeps a profile: later pages sign in by its cookie, and find the scripts in its cache. */
  const profiles = new Map<string, Profile>()

  before(async () => {
    const folder = await ensurePortal()
    assert.ok(folder, 'the portal is built')
    const launched = launchBrowser()
    service = await startTestService({ MASQUERADE_AUDIT_SECONDS: '3600' }, undefined, folder)
    shop = await bindShop(service)
    browser = await launched
  })
  after(async () => {
    await browser?.close()
    await service?.[Symbol.asyncDispose]()
    await shop?.[Symbol.asyncDispose]()
  })

  const running = () => {
    if (!service || !browser || !shop) throw new Error('the portal is not started yet')
    return { service, browser, shop }
  }

  return {
    service: () => running().service,
    shop: () => running().shop,
    administrator: () => administratorOf(running().service),
    /** A call of the API as an owner of everything. */
    async send(method: string, path: string, body?: unknown) {
      return sendAsOwner(running().service, method, path, body)
    },
    /** The portal at an address, for a person who has signed in. */
    async open(person: Person, path: string): Promise<OpenedPage> {
      const known = profiles.get(person.id)
      const profile = known ?? { context: await createContext(running().browser), idle: [] }
      profiles.set(person.id, profile)
      const opened = await openPageIn(profile, running().service.origin)
      await opened.page.goto(running().service.origin + path)
      if (!known) await signIn(opened.page, person)
      await opened.page.locator('#content h1').waitFor()
      return opened
    },
    /** A browser that nobody has signed in with. */
    visit: () => openPage(running().browser, running().service.origin),
  }
}

export function administratorOf({ administrator, dataDir }: TestService): Person {
  const password = readFileSync(join(dataDir, 'administrator-password'), 'utf8').trim()
  return { id: administrator?.id ?? '', userPrincipalName: administrator?.userPrincipalName ?? '', password }
}

export interface OpenedPage extends AsyncDisposable {
  readonly page: Page
  /** Errors of the console, failed scripts and requests to other hosts so far. */
  readonly faults: string[]
}

function createContext(browser: Browser): Promise<BrowserContext> {
  return browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' })
}

/** A page in a profile of its own, which ends with it. */
export async function openPage(browser: Browser, origin: string): Promise<OpenedPage> {
  const context = await createContext(browser)
  const opened = await openPageIn({ context, idle: [] }, origin)
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]()
      await context.close()
    },
  }
}

interface Profile {
  readonly context: BrowserContext
  /** Pages that a test is done with. The next one goes on in their process, where the scripts are compiled already. */
  readonly idle: Page[]
}

async function openPageIn({ context, idle }: Profile, origin: string): Promise<OpenedPage> {
  const page = idle.pop() ?? (await context.newPage())
  page.setDefaultTimeout(patienceMs)
  const faults: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`script: ${error.message}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) faults.push(`outside request: ${request.url()}`)
  })
  return {
    page,
    faults,
    async [Symbol.asyncDispose]() {
      if (!page.isClosed()) {
        await page.unrouteAll({ behavior: 'ignoreErrors' })
        // A page of another origin than the service's has no storage.
        await page.evaluate('sessionStorage.clear()').catch(() => {})
        // Ends what the page still asks for, as closing it would.
        await page.goto('about:blank')
        page.removeAllListeners()
        idle.push(page)
      }
      if (faults.length > 0) console.error(faults)
      assert.deepEqual(faults, [])
    },
  }
}

/** Goes to an address as a link does: the page stays, and with it the sign-in. */
export async function follow(page: Page, address: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(address)})`)
}

export async function signIn(page: Page, { userPrincipalName, password }: Person): Promise<void> {
  await page.getByLabel('User name').fill(userPrincipalName)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** A busy machine takes its time. */
const patienceMs = 60_000
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

interface Look {
  readonly width: number
  readonly colorScheme: 'light' | 'dark'
}

const isAll = process.env.MASQUERADE_TEST_ALL !== undefined

/** A walk through pages that other tests open as well, in `npm run test:all`. */
export function walk(name: string, run: () => Promise<void>): void {
  test(name, { skip: isAll ? false : 'in npm run test:all' }, run)
}

const wide: Look = { width: 1440, colorScheme: 'light' }
const narrow: Look = { width: 360, colorScheme: 'dark' }
const allLooks: readonly Look[] = [1440, 768, 360].flatMap((width) => [
  { width, colorScheme: 'light' },
  { width, colorScheme: 'dark' },
])

/**
 * No violation of WCAG 2.2 AA, and nothing that makes the page scroll sideways. `npm run test:all` looks at a whole page
 * `thoroughly`, at each width, light and dark, and at its drawers and states narrow and wide; `npm test` judges whole pages
 * once, and of the others no more than their width.
 */
export async function checkAccessible(page: Page, thoroughly = false): Promise<void> {
  await page.evaluate('window.looked = undefined')
  const looks = thoroughly && isAll ? allLooks : isAll || thoroughly ? [narrow, wide] : [narrow]
  for (const { width, colorScheme } of looks) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    // Colours change by a transition, however short.
    await page.evaluate('Promise.allSettled(document.getAnimations().map((one) => one.finished))')
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    assert.ok(Number(overflow) <= 0, `${page.url()} is ${overflow} pixels too wide at ${width}`)
    if (isAll || (thoroughly && width === wide.width))
      assert.deepEqual(
        await findViolations(page, colorScheme),
        [],
        `${page.url()} at ${width}, ${colorScheme}`,
      )
  }
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
}

const require = createRequire(import.meta.url)
const axeSource = readFileSync(
  createRequire(require.resolve('@axe-core/playwright')).resolve('axe-core/axe.min.js'),
  'utf8',
)

/** The rules that judge colours. They take three quarters of the time of all. */
const colourRules = ['color-contrast', 'link-in-text-block']

/**
 * Violations of the page as it stands. The page keeps the library while it is open: sending it anew for each look takes longer
 * than the look. Of the looks at one state, none judges again what cannot have changed: the rules of structure, where the same
 * elements are drawn as in the look before, and the rules of colours, for elements whose colours and sizes are those of
 * a look before in the same scheme.
 */
async function findViolations(page: Page, scheme: Look['colorScheme']): Promise<unknown> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axeSource)
  return page.evaluate(`(async () => {
    const looked = (window.looked ??= { structure: '', light: new Map(), dark: new Map() })
    const run = async (context, options) => {
      const { violations } = await axe.run(context, { ...options, resultTypes: ['violations'] })
      return violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ html, failureSummary }) => id + ' (' + help + ') ' + html + ' ' + failureSummary))
    }
    const drawn = [...document.body.querySelectorAll('*')].filter((one) => one.checkVisibility())
    const boxOf = (one) => { const { x, y, width, height } = one.getBoundingClientRect(); return [x, y, width, height].join() }
    const structure = document.documentElement.outerHTML + drawn.map(boxOf).join(';')
    const colours = drawn.map((one) => {
      const { color, backgroundColor, backgroundImage, opacity, fontSize, fontWeight, position } = getComputedStyle(one)
      return [one, [color, backgroundColor, backgroundImage, opacity, fontSize, fontWeight, position].join()]
    })
    const known = looked.${scheme}
    const isFirst = known.size === 0
    const changed = colours.filter(([one, style]) => known.get(one) !== style).map(([one]) => one)
    for (const [one, style] of colours) known.set(one, style)
    const found = []
    if (structure !== looked.structure)
      found.push(...await run(document, {
        runOnly: { type: 'tag', values: ${JSON.stringify(tags)} },
        rules: ${JSON.stringify(Object.fromEntries(colourRules.map((id) => [id, { enabled: false }])))},
      }))
    looked.structure = structure
    const colourRules = { runOnly: { type: 'rule', values: ${JSON.stringify(colourRules)} } }
    if (isFirst) found.push(...await run(document, colourRules))
    else if (changed.length > 0) found.push(...await run({ include: changed }, colourRules))
    return found
  })()`)
}

async function bindShop(service: TestService): Promise<Masked> {
  const shop = await createMaskedDatabase()
  await shop.database.sql.unsafe(readFileSync(new URL('../../src/sample/shop.sql', import.meta.url), 'utf8'))
  await sendAsOwner(service, 'PUT', shopPath, { properties: { binding: bindingOf(shop.url) } })
  for (const [name, rule] of Object.entries(rules))
    await sendAsOwner(service, 'PUT', `${shopPath}/dataMaskingPolicies/Default/rules/${name}`, {
      properties: { schemaName: 'public', ...rule },
    })
  return shop
}

let ownerToken: { readonly service: TestService; readonly token: string } | undefined

async function sendAsOwner(service: TestService, method: string, path: string, body?: unknown) {
  if (ownerToken?.service !== service) ownerToken = { service, token: service.tokenFor({ role: 'Owner' }) }
  const hasVersion = /[?&]api-version=/.test(path)
  const full = hasVersion ? path : `${path}${path.includes('?') ? '&' : '?'}${version}`
  const answer = await service.request(method, full, {
    token: ownerToken.token,
    ...(body !== undefined && { body }),
  })
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
  return answer
}
