import { infiniteQueryOptions } from '@tanstack/react-query'
import { send } from './call.ts'
import type { Schema, Selected } from './described.ts'
import { directoryPath, quoteText } from './directory.ts'

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

/** Events of masking at a scope and below it, newest first. */
export function maskingEventsQuery({ scope = '', hours }: AuditFilter) {
  const start = startOf(hours)
  const path = `${scope || ''}${scope.includes('/servers/') ? '' : '/providers/Vendor.Sql'}/auditEvents?$top=100${start ? `&from=${start}` : ''}`
  return infiniteQueryOptions({
    queryKey: ['masking audit', path],
    queryFn: async ({ pageParam, signal }) => (await send<MaskingPage>('GET', pageParam, { signal })).body,
    initialPageParam: path,
    getNextPageParam: (page) => page.nextLink,
  })
}
