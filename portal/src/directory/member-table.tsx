import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { kindOf, type Named, type useDirectoryList } from '../api/directory.ts'
import { t } from '../texts/index.ts'
import { type Column, DataTable } from '../ui/data-table.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { ObjectLink } from './object-link.tsx'

/** Directory objects of any kind, however many. `action` stands at the end of each row. */
export function ObjectTable({
  label,
  list,
  empty,
  action,
  height = 'calc(100dvh - 320px)',
}: {
  readonly label: string
  readonly list: ReturnType<typeof useDirectoryList<Named>>
  readonly empty: { readonly icon: LucideIcon; readonly title: string; readonly hint: string }
  readonly action?: ((object: Named) => ReactNode) | undefined
  readonly height?: string
}) {
  const columns: readonly Column<Named>[] = [
    { key: 'name', header: t.directory.name, cell: (object) => <ObjectLink object={object} /> },
    {
      key: 'more',
      header: t.directory.description,
      cell: ({ userPrincipalName, description }) => (
        <span className="quiet">{userPrincipalName ?? description ?? '–'}</span>
      ),
    },
    {
      key: 'kind',
      header: t.directory.kind,
      cell: (object) => t.directory.kinds[kindOf(object)],
      width: '130px',
    },
    ...(action
      ? [
          {
            key: 'action',
            header: <span className="visually-hidden">{t.directory.actions}</span>,
            cell: action,
            isEnd: true,
            width: '140px',
          },
        ]
      : []),
  ]
  return (
    <Loaded query={list.query}>
      {(rows) => (
        <DataTable
          label={label}
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
          more={list.more}
          height={height}
          empty={
            <Empty icon={empty.icon} title={empty.title}>
              {empty.hint}
            </Empty>
          }
        />
      )}
    </Loaded>
  )
}
