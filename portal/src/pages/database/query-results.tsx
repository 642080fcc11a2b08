import { Download, TerminalSquare, VenetianMask } from 'lucide-react'
import { useMemo } from 'react'
import { Fault } from '../../api/call.ts'
import type { QueryAnswer } from '../../api/query.ts'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Empty, FaultView } from '../../ui/states.tsx'
import { quote } from './events.ts'

type Row = { readonly number: number; readonly values: readonly (string | null)[] }
export type Outcome = { readonly answer: QueryAnswer; readonly ms: number } | { readonly fault: unknown }

export function OutcomeView({
  outcome,
  name,
}: {
  readonly outcome: Outcome | undefined
  readonly name: string
}) {
  const answer = outcome && 'answer' in outcome ? outcome.answer : undefined
  const columns = useMemo(() => (answer ? describeColumns(answer) : []), [answer])
  const rows = useMemo(() => answer?.rows.map((values, number) => ({ number, values })) ?? [], [answer])
  if (!outcome)
    return (
      <div className="card">
        <Empty icon={TerminalSquare} title={t.query.emptyTitle}>
          {t.query.emptyHint}
        </Empty>
      </div>
    )
  if ('fault' in outcome) {
    const isRefused = outcome.fault instanceof Fault && outcome.fault.status === 403
    return (
      <div className="card">
        {isRefused ? (
          <Empty icon={TerminalSquare} title={t.query.noRoleTitle}>
            {t.query.noRoleHint}
          </Empty>
        ) : (
          <FaultView error={outcome.fault} />
        )}
      </div>
    )
  }
  const { error, command, affected, isCut } = outcome.answer
  if (error)
    return (
      <div className="notice bad" role="alert">
        <div className="stack tight">
          <strong className="mono">{error.code}</strong>
          <span>{error.message}</span>
        </div>
      </div>
    )
  if (columns.length === 0) return <p role="status">{t.query.done(command, affected)}</p>
  const save = () => {
    const lines = [
      outcome.answer.columns.map((column) => column.name),
      ...rows.map(({ values }) => values.map((value) => value ?? '')),
    ]
    saveFile(`${name}.csv`, 'text/csv', lines.map((line) => `${line.map(quote).join(',')}\n`).join(''))
  }
  return (
    <>
      <div className="line spread">
        <span className="quiet small" role="status">
          {t.query.rows(rows.length, isCut, outcome.ms)}
        </span>
        <Button size="small" onClick={save}>
          <Download size={13} aria-hidden />
          {t.query.exportCsv}
        </Button>
      </div>
      <DataTable
        label={t.query.results}
        columns={columns}
        rows={rows}
        keyOf={({ number }) => String(number)}
        height="520px"
      />
    </>
  )
}

function describeColumns({ columns, rows }: QueryAnswer): readonly Column<Row>[] {
  return columns.map((column, at) => describeColumn(column, at, isNumeric(rows, at)))
}

/** Numbers end at one line, as in a ledger. */
function isNumeric(rows: QueryAnswer['rows'], at: number): boolean {
  const values = rows.flatMap((row) => row[at] ?? [])
  return values.length > 0 && values.every((value) => /^-?\d+(\.\d+)?$/.test(value))
}

function describeColumn(
  { name, isMasked }: QueryAnswer['columns'][number],
  at: number,
  isEnd: boolean,
): Column<Row> {
  return {
    isEnd,
    key: `${at} ${name}`,
    header: isMasked ? (
      <span className="line masked-head">
        <VenetianMask size={13} aria-label={t.query.masked} />
        {name}
      </span>
    ) : (
      name
    ),
    cell: ({ values }) => {
      const value = values[at] ?? null
      if (value === null) return <span className="faint">{t.query.nullValue}</span>
      return <span className={isMasked ? 'mono masked' : 'mono'}>{value}</span>
    },
  }
}
