import { KeyRound, Sparkles } from 'lucide-react'
import type { ColumnEntry, TablePlace } from '../../api/catalog.ts'
import type { Recommendation } from '../../api/document.ts'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import type { Selection } from '../../ui/data-table.tsx'
import { Card } from '../../ui/page.tsx'
import { SelectAll, SelectOne } from '../../ui/selection.tsx'
import { Tip } from '../../ui/tip.tsx'
import { describeMask } from './masks.ts'

/** The columns of a table; the whole row leads to the editor. */
export function ColumnList({
  table,
  columns,
  hints,
  chosen,
  onChoose,
  selection,
}: {
  readonly table: TablePlace
  readonly columns: readonly ColumnEntry[]
  readonly hints: readonly Recommendation[]
  readonly chosen: string | undefined
  readonly onChoose: (column: string | undefined) => void
  /** Undefined: the reader may not change masks. */
  readonly selection: Omit<Selection, 'labelOf'> | undefined
}) {
  const masked = columns.filter(({ rule }) => rule).length
  return (
    <Card
      title={
        <span className="mono">
          <span className="faint">{table.schema}.</span>
          {table.table}
        </span>
      }
      actions={
        <span className="faint small">
          {t.data.columnCount(columns.length)} · {t.data.ruleCount(masked)}
        </span>
      }
      isFlush
    >
      <section className="table-frame column-list" tabIndex={0} aria-label={t.data.columns}>
        <table className="table">
          <thead>
            <tr>
              {selection && <SelectAll keys={columns.map(({ columnName }) => columnName)} {...selection} />}
              <th scope="col">{t.data.column}</th>
              <th scope="col" className="column-type">
                {t.data.type}
              </th>
              <th scope="col">{t.data.mask}</th>
            </tr>
          </thead>
          <tbody>
            {columns.map((column) => (
              <tr key={column.columnName} className={column.columnName === chosen ? 'chosen' : undefined}>
                {selection && (
                  <SelectOne
                    id={column.columnName}
                    label={t.data.selectColumn(column.columnName)}
                    {...selection}
                  />
                )}
                <td>
                  <button
                    type="button"
                    className="row-button mono"
                    aria-label={t.data.edit(column.columnName)}
                    aria-expanded={column.columnName === chosen}
                    onClick={() => onChoose(column.columnName === chosen ? undefined : column.columnName)}
                  >
                    {column.columnName}
                    {column.isKey && (
                      <Tip text={t.data.key}>
                        <KeyRound size={12} aria-label={t.data.key} />
                      </Tip>
                    )}
                  </button>
                </td>
                <td className="mono faint column-type">{shortenType(column.type)}</td>
                <td>
                  <MaskCell
                    column={column}
                    hint={hints.find(({ columnName }) => columnName === column.columnName)}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Card>
  )
}

function MaskCell({
  column,
  hint,
}: {
  readonly column: ColumnEntry
  readonly hint: Recommendation | undefined
}) {
  if (column.rule) return <Badge tone="accent">{describeMask(column.rule)}</Badge>
  if (!hint) return <span className="faint">–</span>
  return (
    <Tip text={`${t.data.recommended(hint.kind)}: ${hint.reasons.join(', ')}`}>
      <span>
        <Badge tone="warn">
          <Sparkles size={11} aria-hidden />
          {t.data.recommendedShort(hint.kind)}
        </Badge>
      </span>
    </Tip>
  )
}

/** PostgreSQL's own short names of its types. */
const shortNames: readonly (readonly [RegExp, string])[] = [
  [/^character varying/, 'varchar'],
  [/^character(?=\(|$)/, 'char'],
  [/^timestamp(\(\d\))? with time zone/, 'timestamptz$1'],
  [/^timestamp(\(\d\))? without time zone/, 'timestamp$1'],
  [/^time(\(\d\))? without time zone/, 'time$1'],
  [/^double precision/, 'float8'],
]

function shortenType(type: string): string {
  return shortNames.reduce((name, [long, short]) => name.replace(long, short), type)
}
