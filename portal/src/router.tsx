import { createRoute, createRouter, redirect } from '@tanstack/react-router'
import { directoryRoutes } from './directory-routes.ts'
import { OverviewPage } from './pages/overview/overview-page.tsx'
import { root } from './root-route.ts'
import { lazyPage, loadPages, PageNotLoaded, stayUntilLoaded } from './shell/load-page.ts'
import { textsOf } from './shell/search.ts'
import { FaultView, Skeleton } from './ui/states.tsx'

/** Each page is a file of its own that is loaded when it is first opened; the first one comes with the frame. */
const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: OverviewPage,
})

const welcome = createRoute({
  getParentRoute: () => root,
  path: '/welcome',
  component: lazyPage(() => import('./pages/welcome/welcome-page.tsx'), 'WelcomePage'),
})

const databases = createRoute({
  getParentRoute: () => root,
  path: '/databases',
  validateSearch: (search) => textsOf(search, 'q'),
  component: lazyPage(() => import('./pages/databases/databases-page.tsx'), 'DatabasesPage'),
})

const database = createRoute({
  getParentRoute: () => root,
  path: '/databases/$subscription/$group/$server/$database',
  component: lazyPage(() => import('./pages/database/database-layout.tsx'), 'DatabaseLayout'),
})

const databaseStart = createRoute({
  getParentRoute: () => database,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/databases/$subscription/$group/$server/$database/data', params, replace: true })
  },
})

const data = createRoute({
  getParentRoute: () => database,
  path: '/data',
  validateSearch: (search) =>
    textsOf(search, 'schema', 'table', 'column', 'columns', 'q', 'eyes', 'as', 'role'),
  component: lazyPage(() => import('./pages/database/data-page.tsx'), 'DataPage'),
})

const rules = createRoute({
  getParentRoute: () => database,
  path: '/rules',
  validateSearch: (search) => textsOf(search, 'q', 'selected'),
  component: lazyPage(() => import('./pages/database/rules-page.tsx'), 'RulesPage'),
})

const exposures = createRoute({
  getParentRoute: () => database,
  path: '/exposures',
  validateSearch: (search) => textsOf(search, 'severity'),
  component: lazyPage(() => import('./pages/database/exposures-page.tsx'), 'ExposuresPage'),
})

const people = createRoute({
  getParentRoute: () => database,
  path: '/people',
  component: lazyPage(() => import('./pages/database/people-page.tsx'), 'PeoplePage'),
})

const activity = createRoute({
  getParentRoute: () => database,
  path: '/activity',
  validateSearch: (search) => textsOf(search, 'kind'),
  component: lazyPage(() => import('./pages/database/activity-page.tsx'), 'ActivityPage'),
})

const query = createRoute({
  getParentRoute: () => database,
  path: '/query',
  component: lazyPage(() => import('./pages/database/query-page.tsx'), 'QueryPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    overview,
    welcome,
    databases,
    database.addChildren([databaseStart, data, rules, exposures, people, activity, query]),
    ...directoryRoutes,
  ]),
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  defaultPendingMs: 150,
  defaultPendingComponent: () => (
    <div className="page">
      <Skeleton lines={8} />
    </div>
  ),
  defaultErrorComponent: ({ error, reset }) => (
    <FaultView
      error={error}
      onRetry={async () => {
        if (error instanceof PageNotLoaded) await loadPages(router, location.pathname)
        reset()
      }}
    />
  ),
})

stayUntilLoaded(router)

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
