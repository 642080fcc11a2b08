import type { Selected } from '../api/described.ts'
import { t } from '../texts/index.ts'
import { Badge } from '../ui/badge.tsx'
import type { Column } from '../ui/data-table.tsx'
import { DateText } from '../ui/date.tsx'

export type SignIn = Selected<
  'signIn',
  | 'id'
  | 'createdDateTime'
  | 'userDisplayName'
  | 'userPrincipalName'
  | 'appDisplayName'
  | 'resourceDisplayName'
  | 'clientAppUsed'
  | 'ipAddress'
  | 'status',
  'status'
>

export const signInColumns: readonly Column<SignIn>[] = [
  {
    key: 'when',
    header: t.persons.when,
    cell: ({ createdDateTime }) => <DateText at={createdDateTime} isRelative />,
  },
  {
    key: 'app',
    header: t.persons.application,
    cell: ({ appDisplayName, resourceDisplayName }) => appDisplayName ?? resourceDisplayName ?? '–',
  },
  { key: 'way', header: t.persons.way, cell: ({ clientAppUsed }) => clientAppUsed ?? '–' },
  { key: 'address', header: t.persons.address, cell: ({ ipAddress }) => <code>{ipAddress ?? '–'}</code> },
  {
    key: 'outcome',
    header: t.persons.outcome,
    cell: ({ status }) =>
      status.errorCode === 0 ? (
        <Badge tone="good">{t.persons.success}</Badge>
      ) : (
        <Badge tone="bad">{status.failureReason ?? String(status.errorCode)}</Badge>
      ),
  },
]
