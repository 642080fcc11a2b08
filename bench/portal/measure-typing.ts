import type { BrowserContext, Page } from 'playwright-core'
import { waitUntil } from '../../test/support/wait-until.ts'

/** A list with a search box: its rows, and how many there are to be found by the digits of their names. */
export interface List {
  readonly path: string
  readonly rows: string
  /** A part of the addresses at which the list's pages are read. */
  readonly api: string
  readonly count: number
}

const digits = 6

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

/** How long a key takes until its rows stand, in the list and in an empty page, and the requests that show the list. */
export async function measureTyping(
  context: BrowserContext,
  addresses: { readonly origin: string; readonly emptyPage: string },
  list: List,
  rounds: number,
) {
  const [page, empty] = [await context.newPage(), await context.newPage()]
  let requests = 0
  page.on('request', (request) => {
    if (request.url().includes(list.api)) requests++
  })
  await page.bringToFront()
  await page.goto(addresses.origin + list.path)
  await page.locator(list.rows).first().waitFor()
  const requestsToShow = requests
  await empty.goto(addresses.origin + addresses.emptyPage)
  await empty.evaluate(
    "document.body.append(document.createElement('input')); document.querySelector('input').focus()",
  )
  const times = { list: [] as number[], empty: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    const word = String(Math.floor((list.count / 10) * Math.random())).padStart(digits, '0')
    await page.bringToFront()
    await page.getByRole('searchbox').fill(word.slice(0, -1))
    await waitUntil('the rows of a shorter word', () => page.evaluate(showsOnly(word.slice(0, -1), list)))
    times.list.push(await measureKey(page, word.slice(-1), showsOnly(word, list)))
    await empty.bringToFront()
    times.empty.push(await measureKey(empty, 'a', 'true'))
  }
  await page.close()
  await empty.close()
  return { ...times, requestsToShow }
}
