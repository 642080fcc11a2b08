import { Play, Square } from 'lucide-react'
import { useRef, useState } from 'react'
import { pathOf } from '../../api/masking.ts'
import { runQuery } from '../../api/query.ts'
import { usePerson } from '../../session/person.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { useDebounced } from '../../ui/debounced.ts'
import { useDraft } from '../../ui/draft.ts'
import { Checkbox } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { SqlEditor } from '../../ui/sql-editor.tsx'
import { addToHistory, forgetHistory, readHistory } from './query-history.ts'
import { type Outcome, OutcomeView } from './query-results.tsx'
import { useCatalogue } from './use-catalogue.ts'
import { useDatabasePlace } from './use-database.ts'
import './query.css'

const rowLimit = 2000

/** SQL as oneself: the gateway runs it under the person's own login role, with the masks of that role. */
export function QueryPage() {
  const place = useDatabasePlace()
  const id = pathOf(place)
  const [past, setPast] = useState(() => readHistory(id))
  const person = usePerson()
  const { draft, setDraft } = useDraft<string>(`query ${id}`)
  const [start, setStart] = useState(() => ({ text: draft ?? past[0] ?? '', version: 0 }))
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
    setPast(addToHistory(person.id, id, sql))
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
    setDraft(sql)
    setStart(({ version }) => ({ text: sql, version: version + 1 }))
  }
  const clear = () => {
    setPast(forgetHistory(id))
    setDraft(undefined)
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
              setDraft(next)
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
            <span className="faint small truncate">{t.query.hint}</span>
          </div>
        </section>
        <OutcomeView outcome={outcome} name={place.database} />
      </div>
      <Card
        title={t.query.history}
        actions={
          past.length > 0 && (
            <Button size="small" tone="ghost" onClick={clear}>
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
