import { History } from 'lucide-react'
import { directoryPath, quoteText, type User, useDirectoryList } from '../../api/directory.ts'
import { type SignIn, signInColumns } from '../../directory/sign-in-columns.tsx'
import { t } from '../../texts/index.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'

export function PersonSignIns({ user }: { readonly user: User }) {
  const { query, more } = useDirectoryList<SignIn>(
    directoryPath('/auditLogs/signIns', { $top: '50', $filter: `userId eq ${quoteText(user.id)}` }),
  )
  return (
    <Loaded query={query}>
      {(rows) => (
        <DataTable
          label={t.persons.signIns}
          columns={signInColumns}
          rows={rows}
          keyOf={({ id }) => id}
          more={more}
          height="calc(100dvh - 260px)"
          empty={
            <Empty icon={History} title={t.persons.signInsEmpty}>
              {t.persons.signInsEmptyHint}
            </Empty>
          }
        />
      )}
    </Loaded>
  )
}
