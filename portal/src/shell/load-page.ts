import { type AnyRouter, lazyRouteComponent, type RouteComponent } from '@tanstack/react-router'
import { t } from '../texts/index.ts'
import { dismissToast, toast } from '../ui/toasts.tsx'

type Router = Pick<AnyRouter, 'commitLocation' | 'getMatchedRoutes' | 'subscribe'>

/**
 * The file of a page, or of a part of one, was not loaded. The router reloads the portal on the browser's own error, but not on this one. It is a TypeError as
 * that of a failed request is.
 */
export class PageNotLoaded extends TypeError {}

/** A page whose file is loaded when it is first opened. */
export function lazyPage<Name extends string>(
  load: () => Promise<Record<Name, RouteComponent>>,
  name: Name,
): RouteComponent {
  return lazyRouteComponent(() => loadFile(load), name)
}

/** Loads a file of the portal. Throws PageNotLoaded where it cannot be loaded. */
export async function loadFile<File>(load: () => Promise<File>): Promise<File> {
  try {
    return await load()
  } catch (cause) {
    throw new PageNotLoaded(t.states.silent, { cause })
  }
}

/**
 * Stays on the present page, with all that was typed there, where the file of the next one cannot be loaded. A navigation ends
 * where a person has begun a later one, by a link or by Back, while its file was loading.
 */
export function stayUntilLoaded(router: Router): void {
  const commit = router.commitLocation
  let newest = 0
  // Back and Forward change the address without a commit.
  router.subscribe('onBeforeNavigate', () => {
    newest++
  })
  router.commitLocation = async (next) => {
    const own = ++newest
    const hasLoaded = isLoaded(router, next.pathname) || (await loadPages(router, next.pathname))
    if (own !== newest) return
    if (hasLoaded) {
      dismissToast(t.states.silent)
      return commit(next)
    }
    const isUpgraded = await answers(next.href)
    if (own !== newest) return
    // A service that answers has no such file any more: it was upgraded, and its own portal opens the page.
    if (isUpgraded) return location.assign(next.href)
    const retry = () => void router.commitLocation(next)
    toast(t.states.silent, { tone: 'bad', action: { label: t.states.retry, run: retry } })
  }
}

/** Loads the pages at an address that are not loaded yet; false where one cannot be. */
export async function loadPages(router: Router, path: string): Promise<boolean> {
  loadStylesAgain()
  await Promise.all(missingAt(router, path).map((load) => load()))
  return isLoaded(router, path)
}

function isLoaded(router: Router, path: string): boolean {
  return missingAt(router, path).length === 0
}

/** A page has something to load until it is loaded. */
function missingAt(router: Router, path: string): readonly (() => unknown)[] {
  const pages = router.getMatchedRoutes(path)[0].map(({ options }) => options.component)
  return pages.flatMap((page) => (page && 'preload' in page && page.preload ? [page.preload] : []))
}

export async function answers(address: string): Promise<boolean> {
  try {
    return (await fetch(address, { headers: { accept: 'text/html' } })).ok
  } catch {
    return false
  }
}

const failedStyles = new Set<HTMLLinkElement>()
addEventListener(
  'error',
  ({ target }) =>
    target instanceof HTMLLinkElement && target.rel === 'stylesheet' && failedStyles.add(target),
  true,
)

/** An import that is tried again loads its script again, but not the style sheets that it asked for before. */
export function loadStylesAgain(): void {
  for (const link of failedStyles) link.replaceWith(link.cloneNode())
  failedStyles.clear()
}
