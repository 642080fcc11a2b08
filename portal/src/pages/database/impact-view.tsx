import { useQuery } from '@tanstack/react-query'
import { type DocumentProperties, impactQuery } from '../../api/document.ts'
import type { DatabasePlace } from '../../api/masking.ts'
import { Statements } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { FaultNotice, Skeleton } from '../../ui/states.tsx'
import { useGains } from './gains.ts'

const mostRoles = 5

interface ViewProps {
  readonly place: DatabasePlace
  readonly next: DocumentProperties
}

/** What a change of the document does to roles and sessions, and which roles its masks would not contain. */
export function ImpactView(props: Parameters<typeof Impact>[0]) {
  return (
    <>
      <Impact {...props} />
      <OpenRoles {...props} />
    </>
  )
}

/** The roles that the masks of the change would not contain. */
function OpenRoles({ place, next }: ViewProps) {
  const { data } = useQuery(impactQuery(place, next))
  const { notContained = 0, roles = [] } = data?.containment ?? {}
  if (notContained === 0) return null
  return (
    <ul className="differences impact-list">
      {roles.slice(0, mostRoles).map(({ role, reasons }) => (
        <li key={role}>
          <span>{t.containment.notContained(role)}</span>
          <span>{reasons.map(({ text }) => text).join('; ')}</span>
        </li>
      ))}
      {notContained > mostRoles && (
        <li>
          <span className="quiet">{t.containment.more(notContained - mostRoles)}</span>
        </li>
      )}
    </ul>
  )
}

/** The roles and sessions that a change of the document touches: those that gain raw values before those that lose them. */
function Impact({
  place,
  present,
  next,
  onExempt,
}: ViewProps & {
  readonly present: DocumentProperties
  readonly onExempt: ((role: string) => void) | undefined
}) {
  const { data, error } = useQuery(impactQuery(place, next))
  const found = useGains(place, present, next)
  if (error) return <FaultNotice error={error} />
  if (!data || !found) return <Skeleton lines={2} />
  const { gains, tablesLeft, cutTables, failedTables } = found
  const { roles, ended, reading, closed, notes } = data
  const left = [
    ...(tablesLeft > 0 ? [t.impact.tablesLeft(tablesLeft)] : []),
    ...cutTables.map(t.impact.rolesLeft),
    ...failedTables.map(t.impact.notRead),
  ]
  if ([gains, roles, ended, reading, closed, notes, left].every(({ length }) => length === 0))
    return <p className="quiet small">{t.impact.nobody}</p>
  return (
    <ul className="differences impact-list">
      {left.map((text) => (
        <li key={text}>
          <span className="quiet">{text}</span>
        </li>
      ))}
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
      {reading.length > 0 && (
        <li>
          <span>{t.impact.reading(reading.length)}</span>
          <Statements list={reading.map(({ statement }) => statement)} />
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
