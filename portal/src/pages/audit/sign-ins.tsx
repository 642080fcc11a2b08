import { History } from 'lucide-react'
import { type AuditFilter, signInsPath } from '../../api/audit.ts'
import { useDirectoryList } from '../../api/directory.ts'
import { type SignIn, signInColumns } from '../../directory/sign-in-columns.tsx'
import { t } from '../../texts/index.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { useDebounced } from '../../ui/debounced.ts'
import { Empty, Loaded } from '../../ui/states.tsx'

const columns: readonly Column<SignIn>[] = [
  {
    key: 'who',
    header: t.audit.who,
    cell: ({ userDisplayName, userPrincipalName }) => userDisplayName ?? userPrincipalName ?? '–',
  },
  ...signInColumns,
]

export function SignIns({ filter }: { readonly filter: AuditFilter }) {
  const { query, more } = useDirectoryList<SignIn>(signInsPath(useDebounced(filter)))
  return (
    <Loaded query={query}>
      {(rows) => (
        <DataTable
          label={t.audit.signIns}
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
          more={more}
          height="calc(100dvh - 320px)"
          empty={
            <Empty icon={History} title={t.audit.none}>
              {t.audit.noneHint}
            </Empty>
          }
        />
      )}
    </Loaded>
  )
}
