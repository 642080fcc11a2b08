import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  type DocumentProperties,
  documentQuery,
  impactQuery,
  type MaskingDocument,
  putDocument,
} from '../../api/document.ts'
import { type DatabasePlace, databasesQuery, pathOf } from '../../api/masking.ts'
import { type Change, ChangeDrawer, type Difference, Statements } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { FaultNotice, Skeleton } from '../../ui/states.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'

/** A change of the document as a page proposes it. */
export interface Proposal {
  readonly title: string
  readonly description?: string
  readonly differences: readonly Difference[]
  readonly after: (before: DocumentProperties) => DocumentProperties
  readonly confirmLabel?: string
  readonly isDanger?: boolean
  readonly doneText: string
}

/** The drawer for changes of rules, policy and exemptions, with their impact and statements; `propose` opens it. */
export function useDocumentChange(): {
  readonly drawer: React.ReactNode
  readonly propose: (proposal: Proposal, onApplied?: () => void) => void
} {
  const place = useDatabasePlace()
  const client = useQueryClient()
  const { maySeeImpact } = useRights()
  const document = useQuery(documentQuery(place))
  const [open, setOpen] = useState<{ proposal: Proposal; onApplied: (() => void) | undefined }>()
  const change = open && document.data && describe(open.proposal, document.data, place, maySeeImpact)
  const close = (isApplied: boolean) => {
    if (isApplied) {
      open?.onApplied?.()
      void client.invalidateQueries({ queryKey: ['database', pathOf(place)] })
      void client.invalidateQueries({ queryKey: databasesQuery.queryKey })
    }
    setOpen(undefined)
  }
  return {
    drawer: <ChangeDrawer change={change} onClose={close} />,
    propose: (proposal, onApplied) => setOpen({ proposal, onApplied }),
  }
}

function describe(
  { after, ...proposal }: Proposal,
  document: MaskingDocument,
  place: DatabasePlace,
  maySeeImpact: boolean,
): Change {
  const next = after(document.properties)
  return {
    ...proposal,
    impact: maySeeImpact ? (
      <ImpactView place={place} next={next} />
    ) : (
      <p className="quiet small">{t.impact.noRight}</p>
    ),
    plan: maySeeImpact && <PlanView place={place} next={next} />,
    apply: () => putDocument(place, next, document.tag),
  }
}

interface ViewProps {
  readonly place: DatabasePlace
  readonly next: DocumentProperties
}

function ImpactView({ place, next }: ViewProps) {
  const { data, error } = useQuery(impactQuery(place, next))
  if (error) return <FaultNotice error={error} />
  if (!data) return <Skeleton lines={2} />
  const { roles, ended, closed, notes } = data
  if (roles.length + ended.length + closed.length + notes.length === 0)
    return <p className="quiet small">{t.impact.nobody}</p>
  return (
    <ul className="differences impact-list">
      {roles.map(({ role, relations, sessions }) => (
        <li key={role}>
          <span>{t.impact.loses(role, relations.length)}</span>
          <span className="line">
            {relations.map(({ relation }) => (
              <code key={relation}>{relation}</code>
            ))}
            {sessions.length > 0 && <Badge tone="warn">{t.impact.sessions(sessions.length)}</Badge>}
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

function PlanView({ place, next }: ViewProps) {
  const { data, error } = useQuery(impactQuery(place, next))
  if (error) return null
  if (!data) return <Skeleton lines={3} />
  return <Statements list={data.statements.map(({ sql }) => sql)} />
}
