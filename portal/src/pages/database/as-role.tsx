import { useQuery } from '@tanstack/react-query'
import { type Preview, type TablePlace, type TableRole, tableRolesQuery } from '../../api/catalog.ts'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'

type RoleEyes = 'raw' | 'masked' | 'hidden'

/** What a database role sees of a table; undefined while it is not known. */
export function useRoleSight(table: TablePlace, role: string | undefined): TableRole | undefined {
  const place = useDatabasePlace()
  const { mayRead } = useRights()
  const { data } = useQuery({
    ...tableRolesQuery(place, table, role ?? ''),
    enabled: mayRead && role !== undefined,
  })
  return role === undefined ? undefined : data?.find((one) => one.role === role)
}

/** The eyes of a role for each column: by its privileges, and for a column with a draft by what the mask would leave it. */
export function seeAsRole({ rawColumns, maskedColumns, keepsRaw }: TableRole, drafted: string | undefined) {
  return (column: string): RoleEyes => {
    const isRaw = rawColumns.includes(column)
    if (!isRaw && !maskedColumns.includes(column)) return 'hidden'
    return isRaw && (column !== drafted || keepsRaw) ? 'raw' : 'masked'
  }
}

/** Says with the eyes of which role the preview looks, and why it sees what it sees. */
export function RoleLine({
  role: { role, keepsRaw },
  eyesOf,
  preview,
  hasRaw,
  onEnd,
}: {
  readonly role: TableRole
  readonly eyesOf: (column: string) => string
  readonly preview: Preview
  readonly hasRaw: boolean
  readonly onEnd: () => void
}) {
  const masked = preview.columns.filter(({ maskingFunction }) => maskingFunction !== null)
  const seesNothing = preview.columns.every(({ name }) => eyesOf(name) === 'hidden')
  const seesRaw = masked.some(({ name }) => eyesOf(name) === 'raw')
  const words = seesNothing
    ? t.data.seesNothing(role)
    : masked.length === 0
      ? t.data.seesPlain(role)
      : seesRaw
        ? `${t.data.seesRaw(role)} ${keepsRaw ? t.data.keepsRaw : t.data.notClosed}`
        : t.data.seesMasked(role)
  return (
    <div className="panel-note line spread" role="status">
      <span>
        {words} {seesRaw && !hasRaw && t.data.notYours}
      </span>
      <Button size="small" tone="ghost" onClick={onEnd}>
        {t.data.ownEyes}
      </Button>
    </div>
  )
}
