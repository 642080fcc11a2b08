import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { send } from './call.ts'
import type { Schema, Selected } from './described.ts'
import { advanced, directoryPath, type Listed, quoteText, searchFor } from './directory.ts'

export type MaskingEvent = Schema<'auditEvent'>

type AuditProperty = 'activityDisplayName' | 'activityDateTime' | 'initiatedBy' | 'targetResources'
export type DirectoryAudit = Selected<'directoryAudit', 'id' | 'correlationId' | AuditProperty, AuditProperty>

interface MaskingPage {
  readonly value: readonly MaskingEvent[]
  readonly nextLink?: string
}

export interface AuditFilter {
  readonly who?: string | undefined
  readonly what?: string | undefined
  readonly hours?: string | undefined
  readonly scope?: string | undefined
}

const hourMs = 3_600_000

/** The start of the time that is asked for, to the minute, so that a list keeps its address while it is read. */
function startOf(hours: string | undefined): string | undefined {
  const count = Number(hours)
  if (!(count > 0)) return undefined
  const minute = Math.floor(Date.now() / 60_000) * 60_000
  return new Date(minute - count * hourMs).toISOString()
}

export function directoryAuditsPath({ who = '', what = '', hours }: AuditFilter): string {
  const start = startOf(hours)
  const conditions = [
    start && `activityDateTime ge ${start}`,
    who.trim() && `startswith(initiatedBy/user/userPrincipalName,${quoteText(who.trim())})`,
    what.trim() && `startswith(activityDisplayName,${quoteText(what.trim())})`,
  ]
  return directoryPath('/auditLogs/directoryAudits', {
    $top: '50',
    $filter: conditions.filter(Boolean).join(' and '),
  })
}

export function signInsPath({ who = '', hours }: AuditFilter): string {
  const start = startOf(hours)
  const conditions = [
    start && `createdDateTime ge ${start}`,
    who.trim() && `startswith(userPrincipalName,${quoteText(who.trim())})`,
  ]
  return directoryPath('/auditLogs/signIns', {
    $top: '50',
    $filter: conditions.filter(Boolean).join(' and '),
  })
}

/** As many as the service takes beside the text itself. */
const mostActors = 20

/** Whom a text may mean: the object id or database role that it is, and with the right to read them people and programs. */
export function actorsQuery(who: string, mayReadNames: boolean) {
  const search = searchFor(who, 'displayName')
  const find = async (set: string, wanted: string | undefined, signal: AbortSignal) => {
    const path = directoryPath(`/${set}`, { $top: String(mostActors), $select: 'id', $search: wanted ?? '' })
    const { body } = await send<Listed<{ id: string }>>('GET', path, { signal, headers: advanced })
    return body.value.map(({ id }) => id)
  }
  return queryOptions({
    queryKey: ['directory', 'actors', who, mayReadNames],
    queryFn: async ({ signal }) => {
      if (search === undefined) return undefined
      const found = mayReadNames
        ? await Promise.all([
            find('users', searchFor(who, 'displayName', 'userPrincipalName'), signal),
            find('servicePrincipals', search, signal),
          ])
        : []
      return [who.trim().replaceAll(',', ' '), ...found.flat()].join(',')
    },
  })
}

/** Events of masking at a scope and below it, newest first. */
export function maskingEventsQuery(
  { scope = '', hours, what = '' }: AuditFilter,
  actors: string | undefined,
) {
  const options = Object.entries({ $top: '100', from: startOf(hours), action: what.trim(), actor: actors })
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${encodeURIComponent(value ?? '')}`)
  const path = `${scope || ''}${scope.includes('/servers/') ? '' : '/providers/Vendor.Sql'}/auditEvents?${options.join('&')}`
  return infiniteQueryOptions({
    queryKey: ['masking audit', path],
    queryFn: async ({ pageParam, signal }) => (await send<MaskingPage>('GET', pageParam, { signal })).body,
    initialPageParam: path,
    getNextPageParam: (page) => page.nextLink,
    placeholderData: keepPreviousData,
  })
}
