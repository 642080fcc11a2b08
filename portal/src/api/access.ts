import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { get, send } from './call.ts'
import type { Schema } from './described.ts'
import type { Named } from './directory.ts'
import { policyPathOf } from './document.ts'
import { type DatabasePlace, pathOf } from './masking.ts'

export type Mapping = Schema<'roleMapping'>
export type EnforcementReport = Schema<'enforcement'>
export type AuditEvent = Schema<'auditEvent'>
/** The kinds of events that the service tells apart, in the order of the filter. */
export const eventKinds = ['touch', 'preview', 'session', 'change'] as const
export type EventKind = (typeof eventKinds)[number]

export function mappingsQuery(place: DatabasePlace) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'mappings'],
    queryFn: async ({ signal }) =>
      (await get<{ value: readonly Mapping[] }>(`${pathOf(place)}/roleMappings`, signal)).value,
  })
}

export async function putMapping(
  place: DatabasePlace,
  databaseRole: string,
  principalId: string,
  name: string = crypto.randomUUID(),
): Promise<void> {
  const path = `${pathOf(place)}/roleMappings/${encodeURIComponent(name)}`
  await send('PUT', path, { body: { properties: { databaseRole, principalId } } })
}

export async function deleteMapping(place: DatabasePlace, name: string): Promise<void> {
  await send('DELETE', `${pathOf(place)}/roleMappings/${encodeURIComponent(name)}`)
}

/** The object id behind a userPrincipalName; an id stays as it is. */
export async function findPrincipalId(text: string): Promise<string> {
  const wanted = text.trim()
  if (!wanted.includes('@')) return wanted
  const { id } = await get<{ id: string }>(`/v1.0/users/${encodeURIComponent(wanted)}?$select=id`)
  return id
}

/** Database roles have no object in the directory, and their own name as id. */
const isId = /^[0-9a-f-]{36}$/i

/** Names of directory objects; without the right to read them, none, and the service is not asked. */
export function namesQuery(ids: readonly string[], mayReadNames: boolean) {
  const wanted = [...new Set(ids.filter((id) => isId.test(id)))].sort()
  return queryOptions({
    queryKey: ['names', wanted],
    queryFn: async (): Promise<ReadonlyMap<string, string>> => {
      if (wanted.length === 0) return new Map()
      const { body } = await send<{ value: readonly Named[] }>('POST', '/v1.0/directoryObjects/getByIds', {
        body: { ids: wanted.slice(0, 1000) },
      })
      return new Map(body.value.map(({ id, displayName }) => [id, displayName ?? id]))
    },
    staleTime: 60_000,
    retry: false,
    enabled: mayReadNames,
  })
}

export function enforcementQuery(place: DatabasePlace) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'enforcement'],
    queryFn: ({ signal }) => get<EnforcementReport>(`${policyPathOf(place)}/enforcement`, signal),
  })
}

interface EventsPage {
  readonly value: readonly AuditEvent[]
  readonly nextLink?: string
}

/** The audit at a scope, newest first, of one kind where it is given; `''` is everything that the person may read. */
export function eventsQuery(scope: string, pageSize = 200, kind?: EventKind) {
  const path = scope === '' ? '/providers/Vendor.Sql' : scope
  return infiniteQueryOptions({
    queryKey: ['events', scope, pageSize, kind ?? null],
    queryFn: ({ pageParam, signal }) => get<EventsPage>(pageParam, signal),
    initialPageParam: `${path}/auditEvents?$top=${pageSize}${kind === undefined ? '' : `&kind=${kind}`}`,
    getNextPageParam: (page) => page.nextLink,
    placeholderData: keepPreviousData,
  })
}
