import { Download, Play, Square, TerminalSquare, VenetianMask } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { Fault } from '../../api/call.ts'
import { pathOf } from '../../api/masking.ts'
import { type QueryAnswer, runQuery } from '../../api/query.ts'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { useDebounced } from '../../ui/debounced.ts'
import { Checkbox } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { SqlEditor } from '../../ui/sql-editor.tsx'
import { Empty, FaultView } from '../../ui/states.tsx'
import { quote } from './events.ts'
import { addToHistory, forgetHistory, readHistory } from './query-history.ts'
import { useCatalogue } from './use-catalogue.ts'
import { useDatabasePlace } from './use-database.ts'
import './query.css'

type Row = { readonly number: number; readonly values: readonly (string | null)[] }
type Outcome = { readonly answer: QueryAnswer; readonly ms: number } | { readonly fault: unknown }

const rowLimit = 2000

/** SQL as oneself: the gateway runs it under the person's own login role, with the masks of that role. */
export function QueryPage() {
  const place = useDatabasePlace()
  const id = pathOf(place)
  const [past, setPast] = useState(() => readHistory(id))
  const [start, setStart] = useState({ text: past[0] ?? '', version: 0 })
  const text = useRef(start.text)
  const [typed, setTyped] = useState(start.text)
  const [isReadOnly, setReadOnly] = useState(true)
  const [outcome, setOutcome] = useState<Outcome>()
  const [running, setRunning] = useState<AbortController>()
  const run = async () => {
    const sql = text.current.trim()
    if (sql === '' || running) return
    const controller = new AbortController()
    setRunning(controller)
    setPast(addToHistory(id, sql))
    const startedAt = performance.now()
    try {
      const answer = await runQuery(place, { sql, isReadOnly, rowLimit }, controller.signal)
      setOutcome({ answer, ms: Math.round(performance.now() - startedAt) })
    } catch (fault) {
      setOutcome({ fault: controller.signal.aborted ? new Error(t.query.cancelled) : fault })
    } finally {
      setRunning(undefined)
    }
  }
  const recall = (sql: string) => {
    text.current = sql
    setTyped(sql)
    setStart(({ version }) => ({ text: sql, version: version + 1 }))
  }
  return (
    <div className="query-page">
      <div className="stack">
        <section className="card">
          <SqlEditor
            key={start.version}
            label={t.query.editor}
            initial={start.text}
            {...useCatalogue(useDebounced(typed))}
            onChange={(next) => {
              text.current = next
              setTyped(next)
            }}
            onRun={() => void run()}
          />
          <div className="line spread query-bar">
            <div className="line">
              {running ? (
                <Button onClick={() => running.abort()}>
                  <Square size={13} aria-hidden />
                  {t.query.cancel}
                </Button>
              ) : (
                <Button tone="primary" onClick={() => void run()}>
                  <Play size={13} aria-hidden />
                  {t.query.run}
                </Button>
              )}
              <Checkbox label={t.query.readOnly} checked={isReadOnly} onChange={setReadOnly} />
            </div>
            <span className="faint small">{t.query.hint}</span>
          </div>
        </section>
        <OutcomeView outcome={outcome} name={place.database} />
      </div>
      <Card
        title={t.query.history}
        actions={
          past.length > 0 && (
            <Button size="small" tone="ghost" onClick={() => setPast(forgetHistory(id))}>
              {t.query.clear}
            </Button>
          )
        }
      >
        {past.length === 0 ? (
          <p className="quiet small">{t.query.noHistory}</p>
        ) : (
          <ul className="query-history">
            {past.map((sql) => (
              <li key={sql}>
                <button type="button" className="mono truncate" onClick={() => recall(sql)}>
                  {sql}
                </button>
              </li>
            ))}
          </ul>
        )}
        <p className="faint small">{t.query.historyHint}</p>
      </Card>
    </div>
  )
}

function OutcomeView({ outcome, name }: { readonly outcome: Outcome | undefined; readonly name: string }) {
  const answer = outcome && 'answer' in outcome ? outcome.answer : undefined
  const columns = useMemo(() => answer?.columns.map(describeColumn) ?? [], [answer])
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

function describeColumn({ name, isMasked }: QueryAnswer['columns'][number], at: number): Column<Row> {
  return {
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
