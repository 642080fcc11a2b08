import { queryOptions } from '@tanstack/react-query'
import { get } from './call.ts'
import type { Schema } from './described.ts'

export type VisibleDatabase = Schema<'visibleDatabase'>
export type EnforcementState = VisibleDatabase['properties']['enforcement']['state']
export type QueryableDatabase = Schema<'queryableDatabase'>
type RolePermissions = Schema<'rolePermissions'>

interface MaskingPage<T> {
  readonly value: readonly T[]
  readonly nextLink?: string
}

/** The names in the address of a database, and its path in the API. */
export interface DatabasePlace {
  readonly subscription: string
  readonly group: string
  readonly server: string
  readonly database: string
}

export function placeOf({ name, properties }: VisibleDatabase | QueryableDatabase): DatabasePlace {
  const { subscriptionId, resourceGroupName, serverName } = properties
  return { subscription: subscriptionId, group: resourceGroupName, server: serverName, database: name }
}

/** Masking that is off is no fault, unless rules wait for it. */
export function needsAttention({ properties: { enforcement, ruleCount } }: VisibleDatabase): boolean {
  return ['Failed', 'Pending'].includes(enforcement.state) || (enforcement.state === 'Off' && ruleCount > 0)
}

export function pathOf({ subscription, group, server, database }: DatabasePlace): string {
  const [s, g, v, d] = [subscription, group, server, database].map(encodeURIComponent)
  return `/subscriptions/${s}/resourceGroups/${g}/providers/Vendor.Sql/servers/${v}/databases/${d}`
}

async function getAllPages<T>(path: string, signal: AbortSignal): Promise<readonly T[]> {
  const found: T[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const page: MaskingPage<T> = await get<MaskingPage<T>>(next, signal)
    found.push(...page.value)
    next = page.nextLink
  }
  return found
}

export const databasesQuery = queryOptions({
  queryKey: ['databases'],
  queryFn: ({ signal }) => getAllPages<VisibleDatabase>('/providers/Vendor.Sql/databases', signal),
})

/** The databases that the person may query as themselves, whether or not a masking role lets them see more. */
export const queryableQuery = queryOptions({
  queryKey: ['queryable databases'],
  queryFn: async ({ signal }) => {
    const path = '/providers/Vendor.Sql/queryableDatabases?api-version=2026-11-01'
    return (await get<MaskingPage<QueryableDatabase>>(path, signal)).value
  },
})

/** The sample shop that a first start brings. */
export function findSample(databases: readonly VisibleDatabase[]): VisibleDatabase | undefined {
  return databases.find(({ name, properties }) => name === 'shop' && properties.serverName === 'embedded')
}

/** The actions that the person's masking roles allow at a scope; `''` is the root. */
export function permissionsQuery(scope: string) {
  return queryOptions({
    queryKey: ['permissions', scope],
    queryFn: async ({ signal }) => {
      const path = `${scope}/providers/Vendor.Authorization/permissions`
      return (await get<MaskingPage<RolePermissions>>(path, signal)).value
    },
    staleTime: 60_000,
  })
}

/** True when one of the roles allows the action, as the service itself compares. */
export function allows(roles: readonly RolePermissions[], action: string): boolean {
  const covers = (pattern: string) => {
    const pieces = pattern.split('*').map((piece) => piece.replaceAll(/[.\\+?^${}()|[\]]/g, '\\$&'))
    return new RegExp(`^${pieces.join('.*')}$`, 'is').test(action)
  }
  return roles.some(({ actions, notActions }) => actions.some(covers) && !notActions.some(covers))
}
