import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import type { SelectRows } from '../shell/selected.ts'
import { t } from '../texts/index.ts'
import { Button } from './button.tsx'
import { SelectAll, SelectOne } from './selection.tsx'

export interface Column<Row> {
  readonly key: string
  readonly header: ReactNode
  readonly cell: (row: Row) => ReactNode
  readonly isEnd?: boolean
  readonly wraps?: boolean
  /** A CSS width, for columns that must not move while rows load. */
  readonly width?: string
}

export interface Selection {
  readonly selected: ReadonlySet<string>
  readonly onSelect: SelectRows
  readonly labelOf: (key: string) => string
}

export interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly empty?: ReactNode
  readonly selection?: Selection
  /** Loads the next page when the reader comes near the end. */
  readonly more?: { readonly has: boolean; readonly isLoading: boolean; readonly load: () => void }
  /** Fixes the height and draws only rows in view: for lists that may be long. */
  readonly height?: string
}

/** Rows of one kind. Sorting and filtering are the service's; with a height, only rows in view are drawn. */
export function DataTable<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, empty, selection, more, height } = props
  const frame = useRef<HTMLElement>(null)
  const rowHeight = document.documentElement.dataset.density === 'compact' ? 28 : 36
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight + 1,
    overscan: 12,
    enabled: height !== undefined,
  })
  const items = height === undefined ? undefined : virtual.getVirtualItems()
  const last = items?.at(-1)?.index ?? -1
  const isNearEnd = height !== undefined && last >= rows.length - 10
  useEffect(() => {
    if (isNearEnd && more?.has && !more.isLoading) more.load()
  }, [isNearEnd, more])
  if (rows.length === 0 && empty !== undefined && !more?.has) return <div className="card">{empty}</div>
  const shown = items ? items.map(({ index }) => rows[index] as Row) : rows
  const above = items?.[0]?.start ?? 0
  const below = items ? virtual.getTotalSize() - (items.at(-1)?.end ?? 0) : 0
  const span = columns.length + (selection ? 1 : 0)
  return (
    <section
      className="table-frame"
      ref={frame}
      tabIndex={0}
      aria-label={label}
      style={{ maxHeight: height }}
    >
      <table className="table" aria-rowcount={more?.has ? -1 : rows.length}>
        <thead>
          <tr>
            {selection && <SelectAll keys={rows.map(keyOf)} {...selection} />}
            {columns.map((column) => (
              <th
                key={column.key}
                scope="col"
                className={column.isEnd ? 'end' : undefined}
                style={column.width === undefined ? undefined : { width: column.width }}
              >
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Gap height={above} span={span} />}
          {shown.map((row) => (
            <Line key={keyOf(row)} row={row} id={keyOf(row)} columns={columns} selection={selection} />
          ))}
          {below > 0 && <Gap height={below} span={span} />}
        </tbody>
      </table>
      {more?.has && (
        <div className="table-more">
          <Button tone="ghost" size="small" disabled={more.isLoading} onClick={more.load}>
            {more.isLoading ? t.states.loadingMore : t.states.more}
          </Button>
        </div>
      )}
    </section>
  )
}

function Line<Row>({
  row,
  id,
  columns,
  selection,
}: {
  readonly row: Row
  readonly id: string
  readonly columns: readonly Column<Row>[]
  readonly selection: Selection | undefined
}) {
  return (
    <tr aria-selected={selection?.selected.has(id)}>
      {selection && <SelectOne id={id} label={selection.labelOf(id)} {...selection} />}
      {columns.map((column) => (
        <td
          key={column.key}
          className={`truncate${column.isEnd ? ' end' : ''}${column.wraps ? ' wrap' : ''}`}
        >
          {column.cell(row)}
        </td>
      ))}
    </tr>
  )
}

function Gap({ height, span }: { readonly height: number; readonly span: number }) {
  return (
    <tr aria-hidden>
      <td colSpan={span} style={{ height, padding: 0, border: 0 }} />
    </tr>
  )
}
