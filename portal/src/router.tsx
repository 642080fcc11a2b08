import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { NotFound } from './shell/not-found.tsx'
import { textsOf } from './shell/search.ts'
import { Shell } from './shell/shell.tsx'
import { FaultView, Skeleton } from './ui/states.tsx'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })

/** Each page is a file of its own that is loaded when it is first opened. */
const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage'),
})

const databases = createRoute({
  getParentRoute: () => root,
  path: '/databases',
  validateSearch: (search): { q?: string } => textsOf(search, 'q'),
  component: lazyRouteComponent(() => import('./pages/databases/databases-page.tsx'), 'DatabasesPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([overview, databases]),
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  defaultPendingMs: 150,
  defaultPendingComponent: () => (
    <div className="page">
      <Skeleton lines={8} />
    </div>
  ),
  defaultErrorComponent: ({ error, reset }) => <FaultView error={error} onRetry={reset} />,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
