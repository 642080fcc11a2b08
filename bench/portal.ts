// The portal in a browser against an empty page of the same server: bytes of script at the first load, the time until a
// signed-in person can use it, and the time from a key to the rows that it asks for in lists of many users, groups and tables.
// Run: npm run bench bench/portal.ts [users] [rounds]
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { openDatabase } from '../src/db/database.ts'
import type { Query } from '../src/db/query.ts'
import type { Service } from '../src/main.ts'
import { ensurePortal } from '../src/portal/build-portal.ts'
import { launchBrowser, signIn } from '../test/support/portal.ts'
import { waitUntil } from '../test/support/wait-until.ts'
import { median } from './median.ts'
import { openService } from './open-service.ts'
import { loadWithoutIndexes } from './without-indexes.ts'

const users = Number(process.argv[2] ?? 1_000_000)
const rounds = Number(process.argv[3] ?? 15)
const groups = users / 10
const tables = 5000
const chunk = 20_000
const emptyPage = '/healthz'
const limits = { scriptKb: 250, interactiveMs: 1000, typingMs: 200 }

async function insertUsers(tx: Query, tenantId: string): Promise<void> {
  for (let first = 1; first <= users; first += chunk) {
    await tx`
      insert into directory_object (tenant_id, id, kind, properties)
      select ${tenantId}, md5('user' || n)::uuid, 'user', jsonb_build_object('displayName', 'Person ' || lpad(n::text, 7, '0'),
        'userPrincipalName', 'person' || n || '@example.com', 'accountEnabled', true, 'userType', 'Member')
      from generate_series(${first}::int, ${Math.min(first + chunk - 1, users)}::int) as n`
    process.stderr.write(`\r${first + chunk - 1} of ${users} users `)
  }
}

async function insertGroups(tx: Query, tenantId: string): Promise<void> {
  await tx`
    insert into directory_object (tenant_id, id, kind, properties)
    select ${tenantId}, md5('group' || n)::uuid, 'group', jsonb_build_object('displayName', 'Team ' || lpad(n::text, 7, '0'),
      'mailEnabled', false, 'securityEnabled', true, 'groupTypes', jsonb_build_array())
    from generate_series(1, ${groups}::int) as n`
}

/** Tables of the sample shop beside its own. */
async function createTables({ store }: Service): Promise<void> {
  if (!store.server) throw new Error('the service runs over an embedded database here')
  const shop = openDatabase({
    url: { ...store.server.address, database: 'shop' },
    poolSize: 1,
    searchPath: 'public',
  })
  const statements = Array.from({ length: tables }, (_, n) => {
    const name = `part_${String(n + 1).padStart(7, '0')}`
    return `create table ${name} (id int, note text); alter table ${name} owner to shop_owner;`
  })
  for (let first = 0; first < tables; first += 500)
    await shop.sql.unsafe(statements.slice(first, first + 500).join('\n'))
  await shop.close()
}

async function open() {
  const portalFolder = await ensurePortal()
  if (portalFolder === undefined) throw new Error('the portal is not built')
  const service = await openService({ portalFolder, hasSample: true })
  await service.database.transaction((tx) =>
    loadWithoutIndexes(tx, async () => {
      await insertUsers(tx, service.store.tenantId)
      await insertGroups(tx, service.store.tenantId)
    }),
  )
  await service.database.sql`analyze directory_object`
  await createTables(service)
  process.stderr.write('\n')
  const password = (await readFile(path.join(service.dataDir, 'administrator-password'), 'utf8')).trim()
  const { id = '', userPrincipalName = '' } = service.administrator ?? {}
  return {
    origin: `http://127.0.0.1:${service.listeners.httpPort}`,
    person: { id, userPrincipalName, password },
    async close() {
      await service.close()
    },
  }
}

/** Bytes of script on the wire until the first page stands, in a browser that has nothing of it yet. */
async function measureScript(browser: Browser, { origin, person }: Place): Promise<number> {
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

async function measureLoad(
  context: BrowserContext,
  address: string,
  isThere: (page: Page) => Promise<unknown>,
) {
  const page = await context.newPage()
  const startedAt = performance.now()
  await page.goto(address)
  await isThere(page)
  // The thread of the page is free again: a click would be answered.
  await page.evaluate('new Promise((resolve) => requestIdleCallback(resolve))')
  const took = performance.now() - startedAt
  await page.close()
  return took
}

/** A list with a search box: its rows, and how many there are to be found by the digits of their names. */
interface List {
  readonly path: string
  readonly rows: string
  readonly count: number
}

/** True in the page when it shows rows, and all of them have the word. */
const showsOnly = (word: string, { rows }: List) => `(() => {
  const rows = [...document.querySelectorAll('${rows}')]
  return rows.length > 0 && rows.every((row) => row.textContent.includes(${JSON.stringify(word)}))
})()`

/** From the key to the frame in which `isThere` is true. */
async function measureKey(page: Page, key: string, isThere: string): Promise<number> {
  // `void`: the browser would otherwise be waited for until the promise is kept, and no key was pressed yet.
  await page.evaluate(`void (window.answered = new Promise((resolve) => {
    addEventListener('keydown', () => {
      const start = performance.now()
      const look = () => ${isThere} ? resolve(performance.now() - start) : requestAnimationFrame(look)
      requestAnimationFrame(look)
    }, { capture: true, once: true })
  }))`)
  await page.keyboard.press(key)
  return Number(await page.evaluate('window.answered'))
}

async function measureTyping(context: BrowserContext, origin: string, place: List) {
  const [list, empty] = [await context.newPage(), await context.newPage()]
  await list.goto(origin + place.path)
  await list.getByRole('searchbox').waitFor()
  await empty.goto(origin + emptyPage)
  await empty.evaluate(
    "document.body.append(document.createElement('input')); document.querySelector('input').focus()",
  )
  const times = { list: [] as number[], empty: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    const word = String(Math.floor((place.count / 10) * Math.random())).padStart(6, '0')
    await list.bringToFront()
    await list.getByRole('searchbox').fill(word.slice(0, -1))
    await waitUntil('the rows of a shorter word', () => list.evaluate(showsOnly(word.slice(0, -1), place)))
    times.list.push(await measureKey(list, word.slice(-1), showsOnly(word, place)))
    await empty.bringToFront()
    times.empty.push(await measureKey(empty, 'a', 'true'))
  }
  await list.close()
  await empty.close()
  return times
}

function print(name: string, value: number, empty: number, limit: number, unit: string): void {
  const held = value <= limit ? 'within' : 'ABOVE'
  console.log(
    `${name}: ${value.toFixed(0)} ${unit}, ${held} ${limit}; an empty page ${empty.toFixed(0)} ${unit}`,
  )
}

type Place = Awaited<ReturnType<typeof open>>

const place = await open()
const browser = await launchBrowser()
const script = await measureScript(browser, place)
print('script of the first load, compressed', script / 1024, 0, limits.scriptKb, 'KB')

const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
const first = await context.newPage()
await first.goto(place.origin)
await signIn(first, place.person)
await first.locator('#content h1').waitFor()
await first.close()
const loads = { portal: [] as number[], empty: [] as number[] }
for (let round = 0; round < rounds; round++) {
  loads.portal.push(
    await measureLoad(context, `${place.origin}/`, (page) => page.locator('#content h1').waitFor()),
  )
  loads.empty.push(await measureLoad(context, place.origin + emptyPage, async () => {}))
}
print('interactive', median(loads.portal), median(loads.empty), limits.interactiveMs, 'ms')
const inTable = 'tbody tr:not([aria-hidden])'
const lists: Readonly<Record<string, List>> = {
  users: { path: '/people', rows: inTable, count: users },
  groups: { path: '/groups', rows: inTable, count: groups },
  tables: { path: '/databases/demo/demo/embedded/shop/data', rows: '.tree-scroll a', count: tables },
}
for (const [name, list] of Object.entries(lists)) {
  const typing = await measureTyping(context, place.origin, list)
  print(
    `a key in a list of ${list.count} ${name}`,
    median(typing.list),
    median(typing.empty),
    limits.typingMs,
    'ms',
  )
}
await browser.close()
await place.close()
