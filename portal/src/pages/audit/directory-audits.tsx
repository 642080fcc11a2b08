import { type AuditFilter, type DirectoryAudit, directoryAuditsPath } from '../../api/audit.ts'
import { useDirectoryList } from '../../api/directory.ts'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { t } from '../../texts/index.ts'
import { useDebounced } from '../../ui/debounced.ts'
import { Loaded } from '../../ui/states.tsx'
import { AuditList, type AuditOf } from './audit-list.tsx'
import type { ShownEntry } from './entry-drawer.tsx'

function whoOf({ initiatedBy: { user, app } }: DirectoryAudit): string {
  return user?.displayName ?? user?.userPrincipalName ?? app?.displayName ?? user?.id ?? t.audit.someone
}

function targetOf({ targetResources }: DirectoryAudit): string {
  return targetResources.map(({ displayName, type, id }) => displayName ?? `${type} ${id}`).join(', ')
}

function showEntry(audit: DirectoryAudit): ShownEntry {
  const actor = audit.initiatedBy.user?.id ?? audit.initiatedBy.app?.servicePrincipalId
  const changes = audit.targetResources.flatMap(({ modifiedProperties }) => modifiedProperties ?? [])
  return {
    action: audit.activityDisplayName,
    at: audit.activityDateTime,
    who: actor ? <PrincipalLink id={actor} /> : whoOf(audit),
    target: audit.targetResources.map(({ id, displayName }) =>
      id ? <PrincipalLink key={id} id={id} /> : <span key={displayName}>{displayName}</span>,
    ),
    requestId: audit.correlationId,
    changes: changes.map(({ displayName, oldValue, newValue }) => ({
      name: displayName ?? '',
      before: oldValue ?? undefined,
      after: newValue ?? undefined,
    })),
  }
}

const audit: AuditOf<DirectoryAudit> = {
  label: t.audit.directory,
  fileName: 'directory-audit.csv',
  timeOf: ({ activityDateTime }) => activityDateTime,
  actionOf: ({ activityDisplayName }) => activityDisplayName,
  target: { header: t.audit.target, cell: targetOf },
  who: (row) => <span className="quiet">{whoOf(row)}</span>,
  show: showEntry,
  exported: {
    [t.audit.target]: targetOf,
    [t.audit.who]: whoOf,
    [t.audit.requestId]: ({ correlationId }) => correlationId ?? '',
  },
}

export function DirectoryAudits({ filter }: { readonly filter: AuditFilter }) {
  const { query, more } = useDirectoryList<DirectoryAudit>(directoryAuditsPath(useDebounced(filter)))
  return (
    <Loaded query={query}>
      {(rows) => (
        <div className="stack tight">
          <AuditList audit={audit} rows={rows} more={more} />
        </div>
      )}
    </Loaded>
  )
}
