import { type AnyRouter, lazyRouteComponent, type RouteComponent } from '@tanstack/react-router'
import { t } from '../texts/index.ts'
import { dismissToast, toast } from '../ui/toasts.tsx'

type Router = Pick<AnyRouter, 'commitLocation' | 'getMatchedRoutes'>

/**
 * The file of a page was not loaded. The router reloads the portal on the browser's own error, but not on this one. It is a TypeError as
 * that of a failed request is.
 */
export class PageNotLoaded extends TypeError {}

/** A page whose file is loaded when it is first opened. */
export function lazyPage<Name extends string>(
  load: () => Promise<Record<Name, RouteComponent>>,
  name: Name,
): RouteComponent {
  const loadOrFail = async () => {
    try {
      return await load()
    } catch (cause) {
      throw new PageNotLoaded(t.states.silent, { cause })
    }
  }
  return lazyRouteComponent(loadOrFail, name)
}

/** Stays on the present page, with all that was typed there, where the file of the next one cannot be loaded. */
export function stayUntilLoaded(router: Router): void {
  const commit = router.commitLocation
  router.commitLocation = async (next) => {
    if (isLoaded(router, next.pathname) || (await loadPages(router, next.pathname))) {
      dismissToast(t.states.silent)
      return commit(next)
    }
    // A service that answers has no such file any more: it was upgraded, and its own portal opens the page.
    if (await answers(next.href)) return location.assign(next.href)
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

async function answers(address: string): Promise<boolean> {
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
function loadStylesAgain(): void {
  for (const link of failedStyles) link.replaceWith(link.cloneNode())
  failedStyles.clear()
}
