import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Lock } from 'lucide-react'
import { type AuditFilter, actorsQuery, type MaskingEvent, maskingEventsQuery } from '../../api/audit.ts'
import { allows, permissionsQuery } from '../../api/masking.ts'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { ScopeLink } from '../../directory/scope-link.tsx'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { useDebounced } from '../../ui/debounced.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { describeEvent } from '../database/events.ts'
import { AuditList, type AuditOf } from './audit-list.tsx'
import { compareValues } from './compare-values.ts'
import type { ShownEntry } from './entry-drawer.tsx'
import { TouchChart } from './touch-chart.tsx'

export function MaskingAudits({ filter }: { readonly filter: AuditFilter }) {
  const permissions = useQuery(permissionsQuery(filter.scope ?? ''))
  return (
    <Loaded query={permissions}>
      {(held) =>
        allows(held, 'Vendor.Sql/auditEvents/read') ? (
          <Events filter={filter} />
        ) : (
          <div className="card">
            <Empty icon={Lock} title={t.states.forbiddenTitle}>
              {t.audit.maskingNeeds}
            </Empty>
          </div>
        )
      }
    </Loaded>
  )
}

function showEntry(event: MaskingEvent): ShownEntry {
  return {
    action: event.action,
    at: event.time,
    who: <PrincipalLink id={event.actor.objectId} />,
    target: <ScopeLink scope={event.resourceId} />,
    requestId: event.requestId,
    changes: compareValues(event.before, event.after),
  }
}

const audit: AuditOf<MaskingEvent> = {
  label: t.audit.masking,
  fileName: 'masking-audit.csv',
  timeOf: ({ time }) => time,
  actionOf: ({ action }) => action,
  wordsOf: (event) => describeEvent(event).what,
  target: { header: t.audit.where, cell: ({ resourceId }) => <ScopeLink scope={resourceId} /> },
  who: ({ actor }) => <PrincipalLink id={actor.objectId} />,
  show: showEntry,
  exported: {
    [t.audit.where]: ({ resourceId }) => resourceId,
    [t.audit.who]: ({ actor }) => actor.objectId,
    [t.audit.before]: ({ before }) => JSON.stringify(before ?? null),
    [t.audit.after]: ({ after }) => JSON.stringify(after ?? null),
  },
}

function Events({ filter }: { readonly filter: AuditFilter }) {
  const settled = useDebounced(filter)
  const who = settled.who?.trim() ?? ''
  const actors = useQuery({ ...actorsQuery(who, useReads('directory')), enabled: who !== '' })
  const isKnown = who === '' || actors.data !== undefined
  const query = useInfiniteQuery({
    ...maskingEventsQuery(settled, who === '' ? undefined : actors.data),
    enabled: isKnown,
  })
  const rows = query.data?.pages.flatMap(({ value }) => value)
  const more = {
    has: query.hasNextPage,
    isLoading: query.isFetchingNextPage,
    load: () => void query.fetchNextPage(),
  }
  return (
    <Loaded query={{ data: rows, error: query.error ?? actors.error, refetch: query.refetch }}>
      {(shown) => (
        <div className={query.isPlaceholderData || !isKnown ? 'stack tight is-stale' : 'stack tight'}>
          <TouchChart events={shown} />
          <AuditList audit={audit} rows={shown} more={more} />
        </div>
      )}
    </Loaded>
  )
}
