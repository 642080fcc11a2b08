import { infiniteQueryOptions, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { send } from './call.ts'
import type { Selected } from './described.ts'
import { queryClient } from './query-client.ts'

export interface Listed<T> {
  readonly value: readonly T[]
  readonly '@odata.nextLink'?: string
}

/** An object of any kind by what every list of them shows: the description leaves these properties open. */
export interface Named {
  readonly '@odata.type'?: string
  readonly id: string
  readonly displayName: string | null
  readonly userPrincipalName?: string | null
  readonly appId?: string | null
  readonly description?: string | null
  readonly deletedDateTime?: string | null
}

const userProperties = [
  'id',
  'displayName',
  'userPrincipalName',
  'accountEnabled',
  'userType',
  'givenName',
  'surname',
  'jobTitle',
  'department',
  'companyName',
  'officeLocation',
  'mobilePhone',
  'mail',
  'createdDateTime',
  'deletedDateTime',
] as const

export type User = Selected<'user', (typeof userProperties)[number], 'userPrincipalName'>

/**
 * False where the reader sees names alone. The service then leaves the other properties null, and this one is null
 * in no other case.
 */
export function isWhole({ accountEnabled }: Pick<User, 'accountEnabled'>): boolean {
  return typeof accountEnabled === 'boolean'
}

const groupProperties = [
  'id',
  'displayName',
  'description',
  'groupTypes',
  'securityEnabled',
  'mailEnabled',
  'isAssignableToRole',
  'createdDateTime',
] as const

export type Group = Selected<'group', (typeof groupProperties)[number]>

export type Kind = 'user' | 'group' | 'servicePrincipal' | 'application' | 'directoryRole' | 'other'

export const userFields = userProperties.join()
const listedUserFields = 'id,displayName,userPrincipalName,accountEnabled,userType,jobTitle,department'
export const groupFields = groupProperties.join()
export const namedFields = 'id,displayName,userPrincipalName,appId,description'
/** Of the kinds at the ends of these relations; the service refuses a property that no kind has. */
export const containerFields = 'id,displayName,description'
export const ownedFields = 'id,displayName,description,appId'
export const ownerFields = 'id,displayName,userPrincipalName,appId'
const pageSize = 100
/** The directory API takes `$search` and `$count` with this header alone. */
export const advanced = { consistencylevel: 'eventual' }

export function kindOf({ '@odata.type': type = '' }: Pick<Named, '@odata.type'>): Kind {
  const name = type.split('.').at(-1) ?? ''
  const known = ['user', 'group', 'servicePrincipal', 'application', 'directoryRole']
  return known.includes(name) ? (name as Kind) : 'other'
}

/** A path of the directory API with its query options; undefined ones are left out. */
export function directoryPath(path: string, options: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(options).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return parts.length === 0 ? `/v1.0${path}` : `/v1.0${path}?${parts.join('&')}`
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Finds how words of the name, or the sign-in name, begin. */
export function searchFor(text: string, ...properties: readonly string[]): string | undefined {
  const wanted = text.trim().replaceAll(/["\\]/g, ' ').trim()
  if (wanted === '') return undefined
  return properties.map((property) => `"${property}:${wanted}"`).join(' OR ')
}

/** A list by pages of the service: one request for each page that is shown. */
function pagesQuery<T>(path: string) {
  return infiniteQueryOptions({
    queryKey: ['directory', path],
    queryFn: async ({ pageParam, signal }) =>
      (await send<Listed<T>>('GET', pageParam, { signal, headers: advanced })).body,
    initialPageParam: path,
    getNextPageParam: (page) => page['@odata.nextLink'],
  })
}

export function useDirectoryList<T>(path: string) {
  const query = useInfiniteQuery({ ...pagesQuery<T>(path), placeholderData: (before) => before })
  const rows = query.data?.pages.flatMap((page) => page.value)
  return {
    query: { data: rows, error: query.error, refetch: query.refetch },
    isStale: query.isPlaceholderData,
    more: {
      has: query.hasNextPage,
      isLoading: query.isFetchingNextPage,
      load: () => void query.fetchNextPage(),
    },
  }
}

export function objectQuery<T>(path: string) {
  return queryOptions({
    queryKey: ['directory', path],
    queryFn: async ({ signal }) => (await send<T>('GET', path, { signal, headers: advanced })).body,
  })
}

export function useDirectory<T>(path: string, isEnabled = true) {
  return useQuery({ ...objectQuery<T>(path), enabled: isEnabled })
}

interface Filter {
  readonly q?: string | undefined
  readonly state?: string | undefined
  readonly type?: string | undefined
}

/** A list by the start of a name. The words of a search come in the service's own order. */
export function listPath(
  set: {
    readonly path: string
    readonly kind: string
    readonly select: string
    readonly searched: readonly string[]
  },
  { q = '', state }: Filter,
  conditions: readonly string[] = [],
): string {
  const $top = String(pageSize)
  if (state === 'deleted')
    return directoryPath(`/directory/deletedItems/vendor.graph.${set.kind}`, {
      $top,
      $select: `${set.select},deletedDateTime`,
      $filter: q.trim() === '' ? undefined : `startswith(displayName,${quoteText(q.trim())})`,
    })
  const search = searchFor(q, ...set.searched)
  return directoryPath(set.path, {
    $top,
    $select: set.select,
    $filter: conditions.join(' and '),
    ...(search === undefined ? { $orderby: 'displayName' } : { $search: search }),
  })
}

const people = {
  path: '/users',
  kind: 'user',
  select: listedUserFields,
  searched: ['displayName', 'userPrincipalName'],
}

export function peoplePath(filter: Filter): string {
  const { state, type } = filter
  const conditions = [
    state === 'enabled' ? 'accountEnabled eq true' : state === 'disabled' ? 'accountEnabled eq false' : '',
    type === 'guests' ? "userType eq 'Guest'" : type === 'members' ? "userType eq 'Member'" : '',
  ]
  return listPath(people, filter, conditions.filter(Boolean))
}

const groups = { path: '/groups', kind: 'group', select: groupFields, searched: ['displayName'] }

export function groupsPath(filter: Filter): string {
  return listPath(groups, filter)
}

export function relationPath(path: string, select: string = namedFields): string {
  return directoryPath(path, { $top: String(pageSize), $select: select })
}

/** Rows that were read may have changed: each open list reads anew. */
export async function forgetDirectory(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ['directory'] })
}
