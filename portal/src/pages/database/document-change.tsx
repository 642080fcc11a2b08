import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import {
  type DocumentProperties,
  documentQuery,
  type MaskingDocument,
  putDocument,
} from '../../api/document.ts'
import { type DatabasePlace, databasesQuery, pathOf } from '../../api/masking.ts'
import { queryClient } from '../../api/query-client.ts'
import { type Change, ChangeDrawer, type Difference } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { ImpactView, PlanView } from './impact-view.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'

/** A change of the document as a page proposes it. */
export interface Proposal {
  readonly title: string
  readonly description?: string
  readonly differences: readonly Difference[]
  readonly after: (before: DocumentProperties) => DocumentProperties
  /** The change adds masks: the first one of a database turns masking on. */
  readonly addsMasks?: boolean
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
  const { maySeeImpact } = useRights()
  const document = useQuery(documentQuery(place))
  const [open, setOpen] = useState<{ proposal: Proposal; onApplied: (() => void) | undefined }>()
  const exempt = (role: string) =>
    setOpen((before) => before && { ...before, proposal: withExemption(before.proposal, role) })
  const change = open && document.data && describe(open.proposal, document.data, place, maySeeImpact, exempt)
  const close = (isApplied: boolean) => {
    if (isApplied) {
      open?.onApplied?.()
      forgetDocument(place)
    }
    setOpen(undefined)
  }
  return {
    drawer: <ChangeDrawer change={change} onClose={close} />,
    propose: (proposal, onApplied) => setOpen({ proposal, onApplied }),
  }
}

/** A policy of a database without a rule is off by itself, not by a person's choice: its first mask turns it on. */
function turnOnByFirst(proposal: Proposal, { policy, rules }: DocumentProperties): Proposal {
  if (!proposal.addsMasks || rules.length > 0 || policy.dataMaskingState === 'Enabled') return proposal
  const { Disabled: before, Enabled: after } = t.rules.states
  return {
    ...proposal,
    differences: [...proposal.differences, { label: t.rules.policyState, before, after }],
    after: (present) => {
      const next = proposal.after(present)
      return { ...next, policy: { ...next.policy, dataMaskingState: 'Enabled' } }
    },
  }
}

/** The same change with a role beside it that keeps raw values: an application, for example. */
function withExemption(proposal: Proposal, role: string): Proposal {
  return {
    ...proposal,
    differences: [...proposal.differences, { label: role, after: t.impact.exempted }],
    after: (before) => {
      const next = proposal.after(before)
      const exemptPrincipals = [...next.policy.exemptPrincipals, role]
      return { ...next, policy: { ...next.policy, exemptPrincipals } }
    },
  }
}

function describe(
  wanted: Proposal,
  document: MaskingDocument,
  place: DatabasePlace,
  maySeeImpact: boolean,
  exempt: (role: string) => void,
): Change {
  const { after, addsMasks, ...proposal } = turnOnByFirst(wanted, document.properties)
  const before = document.properties
  const next = after(before)
  const views = (from: DocumentProperties, to: DocumentProperties, onExempt?: (role: string) => void) => ({
    impact: maySeeImpact ? (
      <ImpactView place={place} present={from} next={to} onExempt={onExempt} />
    ) : (
      <p className="quiet small">{t.impact.noRight}</p>
    ),
    plan: maySeeImpact && <PlanView place={place} next={to} />,
  })
  // A change that another person made after this one has another tag: taking this one back is then refused.
  let tag = document.tag
  const put = async (properties: DocumentProperties) => {
    tag = await putDocument(place, properties, tag)
  }
  const isEnforcing = next.policy.dataMaskingState === 'Enabled' && next.policy.enforcementMode !== 'Observe'
  return {
    ...proposal,
    ...(addsMasks && !isEnforcing && { doneText: t.rules.storedAlone }),
    ...views(before, next, exempt),
    apply: () => put(next),
    undo: { ...views(next, before), apply: () => put(before).then(() => forgetDocument(place)) },
  }
}

function forgetDocument(place: DatabasePlace): void {
  void queryClient.invalidateQueries({ queryKey: ['database', pathOf(place)] })
  void queryClient.invalidateQueries({ queryKey: databasesQuery.queryKey })
}
