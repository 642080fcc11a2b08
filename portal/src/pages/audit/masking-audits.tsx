import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Lock } from 'lucide-react'
import { type AuditFilter, type MaskingEvent, maskingEventsQuery } from '../../api/audit.ts'
import { allows, permissionsQuery } from '../../api/masking.ts'
import { principalQuery } from '../../api/principals.ts'
import { queryClient } from '../../api/query-client.ts'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { ScopeLink } from '../../directory/scope-link.tsx'
import { t } from '../../texts/index.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
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

function matches({ action, actor }: MaskingEvent, { what = '', who = '' }: AuditFilter): boolean {
  const known = queryClient.getQueryData(principalQuery(actor.objectId).queryKey)
  const name = `${known?.displayName ?? ''} ${known?.userPrincipalName ?? ''} ${actor.objectId}`.toLowerCase()
  return action.toLowerCase().includes(what.trim().toLowerCase()) && name.includes(who.trim().toLowerCase())
}

const audit: AuditOf<MaskingEvent> = {
  label: t.audit.masking,
  fileName: 'masking-audit.csv',
  timeOf: ({ time }) => time,
  actionOf: ({ action }) => action.replace('Vendor.Sql/servers/', ''),
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
  const query = useInfiniteQuery(maskingEventsQuery(filter))
  const loaded = query.data?.pages.flatMap(({ value }) => value)
  const more = {
    has: query.hasNextPage,
    isLoading: query.isFetchingNextPage,
    load: () => void query.fetchNextPage(),
  }
  return (
    <Loaded query={{ data: loaded, error: query.error, refetch: query.refetch }}>
      {(all) => {
        const rows = all.filter((event) => matches(event, filter))
        return (
          <div className="stack tight">
            <TouchChart events={rows} />
            <AuditList audit={audit} rows={rows} more={more} />
          </div>
        )
      }}
    </Loaded>
  )
}
