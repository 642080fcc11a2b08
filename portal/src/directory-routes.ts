import { createRoute } from '@tanstack/react-router'
import { root } from './root-route.ts'
import { lazyPage } from './shell/load-page.ts'
import { scopeIn, textsOf } from './shell/search.ts'

const getParentRoute = () => root

interface ListSearch {
  q?: string | undefined
  state?: string | undefined
  type?: string | undefined
  new?: string | undefined
  selected?: string | undefined
}

function readListFilter(search: Readonly<Record<string, unknown>>): ListSearch {
  return textsOf(search, 'q', 'state', 'type', 'new', 'selected')
}

const people = createRoute({
  getParentRoute,
  path: '/people',
  validateSearch: readListFilter,
  component: lazyPage(() => import('./pages/people/people-page.tsx'), 'PeoplePage'),
})

interface TabSearch {
  tab?: string | undefined
  show?: string | undefined
}

const person = createRoute({
  getParentRoute,
  path: '/people/$id',
  validateSearch: (search): TabSearch => ({ tab: 'profile', ...textsOf(search, 'tab', 'show') }),
  component: lazyPage(() => import('./pages/people/person-page.tsx'), 'PersonPage'),
})

const groups = createRoute({
  getParentRoute,
  path: '/groups',
  validateSearch: readListFilter,
  component: lazyPage(() => import('./pages/groups/groups-page.tsx'), 'GroupsPage'),
})

const group = createRoute({
  getParentRoute,
  path: '/groups/$id',
  validateSearch: (search): TabSearch => ({ tab: 'members', ...textsOf(search, 'tab', 'show') }),
  component: lazyPage(() => import('./pages/groups/group-page.tsx'), 'GroupPage'),
})

const why = createRoute({
  getParentRoute,
  path: '/why',
  validateSearch: (search): { person?: string | undefined; group?: string | undefined } =>
    textsOf(search, 'person', 'group'),
  component: lazyPage(() => import('./pages/why/why-page.tsx'), 'WhyPage'),
})

const applications = createRoute({
  getParentRoute,
  path: '/applications',
  validateSearch: readListFilter,
  component: lazyPage(() => import('./pages/applications/applications-page.tsx'), 'ApplicationsPage'),
})

const application = createRoute({
  getParentRoute,
  path: '/applications/$appId',
  validateSearch: (search): { tab?: string | undefined } => ({ tab: 'overview', ...textsOf(search, 'tab') }),
  component: lazyPage(() => import('./pages/applications/application-page.tsx'), 'ApplicationPage'),
})

const roles = createRoute({
  getParentRoute,
  path: '/roles',
  validateSearch: (
    search,
  ): { tab?: string | undefined; role?: string | undefined; scope?: string | undefined } => ({
    tab: 'directory',
    ...textsOf(search, 'tab', 'role'),
    ...scopeIn(search),
  }),
  component: lazyPage(() => import('./pages/roles/roles-page.tsx'), 'RolesPage'),
})

const credentials = createRoute({
  getParentRoute,
  path: '/credentials',
  validateSearch: (search): { show?: string | undefined; new?: string | undefined } =>
    textsOf(search, 'show', 'new'),
  component: lazyPage(() => import('./pages/credentials/credentials-page.tsx'), 'CredentialsPage'),
})

interface AuditSearch {
  tab?: string | undefined
  who?: string | undefined
  what?: string | undefined
  hours?: string | undefined
  entry?: string | undefined
  scope?: string | undefined
}

const audit = createRoute({
  getParentRoute,
  path: '/audit',
  validateSearch: (search): AuditSearch => ({
    tab: 'directory',
    ...textsOf(search, 'tab', 'who', 'what', 'hours', 'entry'),
    ...scopeIn(search),
  }),
  component: lazyPage(() => import('./pages/audit/audit-page.tsx'), 'AuditPage'),
})

const system = createRoute({
  getParentRoute,
  path: '/system',
  component: lazyPage(() => import('./pages/system/system-page.tsx'), 'SystemPage'),
})

export const directoryRoutes = [
  people,
  person,
  groups,
  group,
  why,
  applications,
  application,
  roles,
  credentials,
  audit,
  system,
] as const
