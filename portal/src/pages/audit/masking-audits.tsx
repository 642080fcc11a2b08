import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Download, Lock, ScrollText } from 'lucide-react'
import { useState } from 'react'
import { type AuditFilter, type MaskingEvent, maskingEventsQuery } from '../../api/audit.ts'
import { allows, permissionsQuery } from '../../api/masking.ts'
import { principalQuery } from '../../api/principals.ts'
import { queryClient } from '../../api/query-client.ts'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { ScopeLink } from '../../directory/scope-link.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { exportCsv } from '../../ui/export-csv.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { compareValues } from './compare-values.ts'
import { EntryDrawer, type ShownEntry } from './entry-drawer.tsx'
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

function Events({ filter }: { readonly filter: AuditFilter }) {
  const query = useInfiniteQuery(maskingEventsQuery(filter))
  const [entry, setEntry] = useState<ShownEntry>()
  const loaded = query.data?.pages.flatMap(({ value }) => value)
  const columns: readonly Column<MaskingEvent>[] = [
    {
      key: 'when',
      header: t.audit.when,
      cell: ({ time }) => <DateText at={time} isRelative />,
      width: '150px',
    },
    {
      key: 'action',
      header: t.audit.action,
      cell: (event) => (
        <button type="button" className="row-button" onClick={() => setEntry(showEntry(event))}>
          {event.action.replace('Vendor.Sql/servers/', '')}
        </button>
      ),
    },
    { key: 'target', header: t.audit.where, cell: ({ resourceId }) => <ScopeLink scope={resourceId} /> },
    { key: 'who', header: t.audit.who, cell: ({ actor }) => <PrincipalLink id={actor.objectId} /> },
  ]
  const save = (rows: readonly MaskingEvent[]) =>
    exportCsv(
      'masking-audit.csv',
      [t.audit.when, t.audit.action, t.audit.where, t.audit.who, t.audit.before, t.audit.after],
      rows.map(({ time, action, resourceId, actor, before, after }) => [
        time,
        action,
        resourceId,
        actor.objectId,
        JSON.stringify(before ?? null),
        JSON.stringify(after ?? null),
      ]),
    )
  return (
    <Loaded query={{ data: loaded, error: query.error, refetch: query.refetch }}>
      {(all) => {
        const rows = all.filter((event) => matches(event, filter))
        return (
          <div className="stack tight">
            <TouchChart events={rows} />
            <div className="line spread">
              <span className="quiet small">{t.audit.loaded(rows.length)}</span>
              <Button size="small" disabled={rows.length === 0} onClick={() => save(rows)}>
                <Download size={13} aria-hidden />
                {t.audit.export}
              </Button>
            </div>
            <DataTable
              label={t.audit.masking}
              columns={columns}
              rows={rows}
              keyOf={({ id }) => id}
              more={{
                has: query.hasNextPage,
                isLoading: query.isFetchingNextPage,
                load: () => void query.fetchNextPage(),
              }}
              height="calc(100dvh - 360px)"
              empty={
                <Empty icon={ScrollText} title={t.audit.none}>
                  {t.audit.noneHint}
                </Empty>
              }
            />
            <EntryDrawer entry={entry} onClose={() => setEntry(undefined)} />
          </div>
        )
      }}
    </Loaded>
  )
}
