// The portal in a browser against an empty page of the same server: bytes of script at the first load, the time until a
// signed-in person can use it, and the time from a key to the rows that it asks for in lists of many users, groups and tables.
// Run: npm run bench bench/portal.ts [--only load,users,groups,tables] [--users N] [--rounds N]
import { parseArgs } from 'node:util'
import type { Browser } from 'playwright-core'
import { launchBrowser, signIn } from '../test/support/portal.ts'
import { median } from './median.ts'
import { type Load, measureLoad, measureScript } from './portal/measure-load.ts'
import { type List, measureTyping } from './portal/measure-typing.ts'
import { openFilled, type Place } from './portal/open-filled.ts'

const { values: given } = parseArgs({
  options: {
    only: { type: 'string', default: 'load,users,groups,tables' },
    users: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '15' },
  },
})
const parts = new Set(given.only.split(','))
const rounds = Number(given.rounds)
const sizes = {
  users: parts.has('users') ? Number(given.users) : 0,
  groups: parts.has('groups') ? Number(given.users) / 10 : 0,
  tables: parts.has('tables') ? 5000 : 0,
}
const emptyPage = '/healthz'
const limits = { scriptKb: 250, interactiveMs: 1000, typingMs: 200 }
const inTable = 'tbody tr:not([aria-hidden])'
const lists: Readonly<Record<keyof typeof sizes, List>> = {
  users: { path: '/people', rows: inTable, api: '/v1.0/users?', count: sizes.users },
  groups: { path: '/groups', rows: inTable, api: '/v1.0/groups?', count: sizes.groups },
  tables: {
    path: '/databases/demo/demo/embedded/shop/data',
    rows: '.tree-scroll a',
    api: '/databases/shop/tables?',
    count: sizes.tables,
  },
}

function print(name: string, value: number, empty: number, limit: number, unit: string): void {
  const held = value <= limit ? 'within' : 'ABOVE'
  console.log(
    `${name}: ${value.toFixed(0)} ${unit}, ${held} ${limit}; an empty page ${empty.toFixed(0)} ${unit}`,
  )
}

async function openSignedIn(browser: Browser, { origin, person }: Place) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  await page.goto(origin)
  await signIn(page, person)
  await page.locator('#content h1').waitFor()
  await page.close()
  return context
}

async function reportLoad(browser: Browser, place: Place): Promise<void> {
  const script = await measureScript(browser, place)
  print('script of the first load, compressed', script / 1024, 0, limits.scriptKb, 'KB')
  const context = await openSignedIn(browser, place)
  const loads = { portal: [] as Load[], empty: [] as Load[] }
  const nothing = async () => {}
  for (let round = 0; round < rounds; round++) {
    loads.portal.push(
      await measureLoad(context, `${place.origin}/`, {
        standing: (page) => page.locator('#content h1').waitFor(),
        filled: (page) => page.locator('.figure .number').first().getByText(/\d/).waitFor(),
      }),
    )
    loads.empty.push(
      await measureLoad(context, place.origin + emptyPage, { standing: nothing, filled: nothing }),
    )
  }
  const middle = (of: readonly Load[], name: keyof Load) => median(of.map((load) => load[name]))
  const compare = (label: string, name: keyof Load, limit: number) =>
    print(label, middle(loads.portal, name), middle(loads.empty, name), limit, 'ms')
  compare('interactive', 'interactiveMs', limits.interactiveMs)
  compare('with figures', 'filledMs', limits.interactiveMs)
  const [own, empty] = [loads.portal, loads.empty]
  console.log(
    `until then ${middle(own, 'threadMs').toFixed(0)} ms of a processor in the page's thread and ` +
      `${middle(own, 'chained')} requests one after the other; an empty page ` +
      `${middle(empty, 'threadMs').toFixed(0)} ms and ${middle(empty, 'chained')}`,
  )
  await context.close()
}

const place = await openFilled(sizes)
const browser = await launchBrowser()
if (parts.has('load')) await reportLoad(browser, place)
for (const name of ['users', 'groups', 'tables'] as const) {
  if (!parts.has(name)) continue
  const context = await openSignedIn(browser, place)
  const list = lists[name]
  const typing = await measureTyping(context, { origin: place.origin, emptyPage }, list, rounds)
  const label = `a key in a list of ${list.count} ${name}`
  print(label, median(typing.list), median(typing.empty), limits.typingMs, 'ms')
  console.log(`requests that show the list of ${name}: ${typing.requestsToShow}`)
  await context.close()
}
await browser.close()
await place.close()
