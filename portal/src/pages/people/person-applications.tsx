import { AppWindow } from 'lucide-react'
import type { AppRoleAssignment } from '../../api/applications.ts'
import { relationPath, type User, useDirectoryList } from '../../api/directory.ts'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { t } from '../../texts/index.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'

const columns: readonly Column<AppRoleAssignment>[] = [
  { key: 'app', header: t.persons.resource, cell: ({ resourceId }) => <PrincipalLink id={resourceId} /> },
  {
    key: 'when',
    header: t.persons.assigned,
    cell: ({ createdDateTime }) => <DateText at={createdDateTime} isRelative />,
  },
]

export function PersonApplications({ user }: { readonly user: User }) {
  const { query, more } = useDirectoryList<AppRoleAssignment>(
    relationPath(`/users/${user.id}/appRoleAssignments`, ''),
  )
  return (
    <Loaded query={query}>
      {(rows) => (
        <DataTable
          label={t.persons.applications}
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
          more={more}
          empty={
            <Empty icon={AppWindow} title={t.persons.applicationsEmpty}>
              {t.persons.applicationsEmptyHint}
            </Empty>
          }
        />
      )}
    </Loaded>
  )
}
