import { type LucideIcon, UserRoundSearch } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Named } from '../../api/directory.ts'
import { PickPrincipal } from '../../directory/pick-principal.tsx'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'

/** The line that adds a principal to the list. */
export interface Addition {
  readonly fields: ReactNode
  readonly button: string
  readonly isReady: boolean
  readonly onAdd: () => void
  /** Asks the person to choose a principal of the directory instead of typing. */
  readonly picker: { readonly button: string; readonly title: string; readonly hint: string }
  readonly onPick: (picked: Named) => void
}

/** The principals that have something at a database: a list, a line that adds to it, and a button in each row that ends it. */
export function AccessPanel<Row>({
  title,
  hint,
  query,
  label,
  columns,
  keyOf,
  nameOf,
  onRemove,
  mayChange,
  addition,
  empty,
  children,
}: {
  readonly title: string
  readonly hint: string
  readonly query: Parameters<typeof Loaded<readonly Row[]>>[0]['query']
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
  readonly nameOf: (row: Row) => string
  readonly onRemove: (row: Row) => void
  readonly mayChange: boolean
  readonly addition: Addition
  readonly empty: { readonly icon: LucideIcon; readonly title: string; readonly hint: string }
  readonly children: ReactNode
}) {
  const removal: Column<Row> = {
    key: 'remove',
    header: <span className="visually-hidden">{t.access.remove}</span>,
    isEnd: true,
    cell: (row) => (
      <Button size="small" aria-label={t.access.removeOf(nameOf(row))} onClick={() => onRemove(row)}>
        {t.access.remove}
      </Button>
    ),
  }
  return (
    <Card title={title} isFlush>
      <div className="panel-intro">
        <p className="quiet small">{hint}</p>
        {mayChange && <AddLine {...addition} />}
      </div>
      <Loaded query={query}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty icon={empty.icon} title={empty.title}>
              {empty.hint}
            </Empty>
          ) : (
            <DataTable
              label={label}
              columns={mayChange ? [...columns, removal] : columns}
              rows={rows}
              keyOf={keyOf}
            />
          )
        }
      </Loaded>
      {children}
    </Card>
  )
}

function AddLine({ fields, button, isReady, onAdd, picker, onPick }: Addition) {
  const isReader = useReads('directory')
  return (
    <form
      className="add-line"
      onSubmit={(event) => {
        event.preventDefault()
        onAdd()
      }}
    >
      {fields}
      {isReader && (
        <PickPrincipal
          button={picker.button}
          icon={UserRoundSearch}
          title={picker.title}
          description={picker.hint}
          label={t.access.principals}
          sets={['users', 'groups', 'servicePrincipals']}
          size="usual"
          onPick={onPick}
        />
      )}
      <Button type="submit" disabled={!isReady}>
        {button}
      </Button>
    </form>
  )
}
