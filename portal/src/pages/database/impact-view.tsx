import { useQueries, useQuery } from '@tanstack/react-query'
import { type TablePlace, type TableRole, tableRolesQuery } from '../../api/catalog.ts'
import { type DocumentProperties, impactQuery } from '../../api/document.ts'
import type { DatabasePlace } from '../../api/masking.ts'
import { Statements } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { FaultNotice, Skeleton } from '../../ui/states.tsx'

interface ViewProps {
  readonly place: DatabasePlace
  readonly next: DocumentProperties
}

/** Each is a request. */
const mostTables = 8

/** The roles and sessions that a change of the document touches: those that gain raw values before those that lose them. */
export function ImpactView({
  place,
  present,
  next,
  onExempt,
}: ViewProps & {
  readonly present: DocumentProperties
  readonly onExempt: ((role: string) => void) | undefined
}) {
  const { data, error } = useQuery(impactQuery(place, next))
  const gains = useGains(place, present, next)
  if (error) return <FaultNotice error={error} />
  if (!data || !gains) return <Skeleton lines={2} />
  const { roles, ended, closed, notes } = data
  if (gains.length + roles.length + ended.length + closed.length + notes.length === 0)
    return <p className="quiet small">{t.impact.nobody}</p>
  return (
    <ul className="differences impact-list">
      {gains.map(({ role, tables }) => (
        <li key={role}>
          <span>{t.impact.gains(role, tables.length)}</span>
          <Relations names={tables} />
        </li>
      ))}
      {roles.map(({ role, relations, sessions }) => (
        <li key={role}>
          <span>{t.impact.loses(role, relations.length)}</span>
          <span className="line">
            <Relations names={relations.map(({ relation }) => relation)} />
            {sessions.length > 0 && <Badge tone="warn">{t.impact.sessions(sessions.length)}</Badge>}
            {onExempt && (
              <Button size="small" aria-label={t.impact.exemptRole(role)} onClick={() => onExempt(role)}>
                {t.impact.exempt}
              </Button>
            )}
          </span>
        </li>
      ))}
      {ended.length > 0 && (
        <li>
          <span>{t.impact.ended(ended.length)}</span>
          <span>{[...new Set(ended.map(({ role }) => role))].join(', ')}</span>
        </li>
      )}
      {closed.map(({ relation, reason }) => (
        <li key={relation}>
          <span>{t.impact.closed(relation)}</span>
          <span>{reason}</span>
        </li>
      ))}
      {notes.map(({ code, message }) => (
        <li key={code + message}>
          <span className="quiet">{code}</span>
          <span>{message}</span>
        </li>
      ))}
    </ul>
  )
}

function Relations({ names }: { readonly names: readonly string[] }) {
  return (
    <span className="line">
      {names.map((name) => (
        <code key={name}>{name}</code>
      ))}
    </span>
  )
}

export function PlanView({ place, next }: ViewProps) {
  const { data, error } = useQuery(impactQuery(place, next))
  if (error) return null
  if (!data) return <Skeleton lines={3} />
  return <Statements list={data.statements.map(({ sql }) => sql)} />
}

interface Gain {
  readonly role: string
  readonly tables: readonly string[]
}

/** The roles that read a column masked now whose mask ends; undefined until they are known. */
function useGains(
  place: DatabasePlace,
  present: DocumentProperties,
  next: DocumentProperties,
): readonly Gain[] | undefined {
  const ended = listEnded(present, next)
  return useQueries({
    queries: ended.map(({ table }) => tableRolesQuery(place, table, '')),
    combine: (looks) => {
      if (looks.some(({ isPending }) => isPending)) return undefined
      const pairs = ended.flatMap(({ table, columns }, at) =>
        (looks[at]?.data ?? [])
          .filter((role) => readsMasked(role, columns))
          .map(({ role }) => ({ role, table: `${table.schema}.${table.table}` })),
      )
      return [...Map.groupBy(pairs, ({ role }) => role)].map(([role, own]) => ({
        role,
        tables: own.map(({ table }) => table),
      }))
    },
  })
}

function readsMasked({ maskedColumns }: TableRole, columns: ReadonlySet<string>): boolean {
  return maskedColumns.some((name) => columns.has(name))
}

/** The columns by table that have a mask under the one document and none under the other. */
function listEnded(
  present: DocumentProperties,
  next: DocumentProperties,
): readonly { readonly table: TablePlace; readonly columns: ReadonlySet<string> }[] {
  const held = ({ policy, rules }: DocumentProperties) => (policy.dataMaskingState === 'Enabled' ? rules : [])
  const kept = new Set(held(next).map((rule) => keyOf(rule.schemaName, rule.tableName, rule.columnName)))
  const ended = held(present).filter(
    (rule) => !kept.has(keyOf(rule.schemaName, rule.tableName, rule.columnName)),
  )
  return [...Map.groupBy(ended, (rule) => keyOf(rule.schemaName, rule.tableName)).values()]
    .slice(0, mostTables)
    .flatMap((rules) => {
      const [first] = rules
      if (!first) return []
      const table = { schema: first.schemaName, table: first.tableName }
      return [{ table, columns: new Set(rules.map(({ columnName }) => columnName)) }]
    })
}

const keyOf = (...names: readonly string[]) => JSON.stringify(names)
