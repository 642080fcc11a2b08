import { Download, ScrollText } from 'lucide-react'
import { useState } from 'react'
import { type AuditFilter, type DirectoryAudit, directoryAuditsPath } from '../../api/audit.ts'
import { useDirectoryList } from '../../api/directory.ts'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { useDebounced } from '../../ui/debounced.ts'
import { exportCsv } from '../../ui/export-csv.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { EntryDrawer, type ShownEntry } from './entry-drawer.tsx'

function whoOf({ initiatedBy: { user, app } }: DirectoryAudit): string {
  return user?.displayName ?? user?.userPrincipalName ?? app?.displayName ?? user?.id ?? t.audit.someone
}

function targetOf({ targetResources }: DirectoryAudit): string {
  return targetResources.map(({ displayName, type, id }) => displayName ?? `${type} ${id}`).join(', ')
}

function showEntry(audit: DirectoryAudit): ShownEntry {
  const actor = audit.initiatedBy.user?.id ?? audit.initiatedBy.app?.servicePrincipalId
  const changes = audit.targetResources.flatMap(({ modifiedProperties }) => modifiedProperties)
  return {
    action: audit.activityDisplayName,
    at: audit.activityDateTime,
    who: actor ? <PrincipalLink id={actor} /> : whoOf(audit),
    target: audit.targetResources.map(({ id, displayName }) =>
      id ? <PrincipalLink key={id} id={id} /> : <span key={displayName}>{displayName}</span>,
    ),
    requestId: audit.correlationId,
    changes: changes.map(({ displayName, oldValue, newValue }) => ({
      name: displayName,
      before: oldValue ?? undefined,
      after: newValue ?? undefined,
    })),
  }
}

export function DirectoryAudits({ filter }: { readonly filter: AuditFilter }) {
  const { query, more } = useDirectoryList<DirectoryAudit>(directoryAuditsPath(useDebounced(filter)))
  const [entry, setEntry] = useState<ShownEntry>()
  const columns: readonly Column<DirectoryAudit>[] = [
    {
      key: 'when',
      header: t.audit.when,
      cell: ({ activityDateTime }) => <DateText at={activityDateTime} isRelative />,
      width: '150px',
    },
    {
      key: 'action',
      header: t.audit.action,
      cell: (audit) => (
        <button type="button" className="row-button" onClick={() => setEntry(showEntry(audit))}>
          {audit.activityDisplayName}
        </button>
      ),
    },
    { key: 'target', header: t.audit.target, cell: targetOf },
    { key: 'who', header: t.audit.who, cell: (audit) => <span className="quiet">{whoOf(audit)}</span> },
  ]
  const save = (rows: readonly DirectoryAudit[]) =>
    exportCsv(
      'directory-audit.csv',
      [t.audit.when, t.audit.action, t.audit.target, t.audit.who, t.audit.requestId],
      rows.map((row) => [
        row.activityDateTime,
        row.activityDisplayName,
        targetOf(row),
        whoOf(row),
        row.correlationId ?? '',
      ]),
    )
  return (
    <Loaded query={query}>
      {(rows) => (
        <div className="stack tight">
          <div className="line spread">
            <span className="quiet small">{t.audit.loaded(rows.length)}</span>
            <Button size="small" disabled={rows.length === 0} onClick={() => save(rows)}>
              <Download size={13} aria-hidden />
              {t.audit.export}
            </Button>
          </div>
          <DataTable
            label={t.audit.directory}
            columns={columns}
            rows={rows}
            keyOf={({ id }) => id}
            more={more}
            height="calc(100dvh - 360px)"
            empty={
              <Empty icon={ScrollText} title={t.audit.none}>
                {t.audit.noneHint}
              </Empty>
            }
          />
          <EntryDrawer entry={entry} onClose={() => setEntry(undefined)} />
        </div>
      )}
    </Loaded>
  )
}
