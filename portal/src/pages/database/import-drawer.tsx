import { type ChangeEvent, useId, useState } from 'react'
import type { DocumentProperties, Rule } from '../../api/document.ts'
import type { Difference } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { Drawer } from '../../ui/layers.tsx'
import type { Proposal } from './document-change.tsx'
import { describeMask, isSameMask } from './masks.ts'
import { readDocument } from './read-document.ts'

/** Takes a document as text or file, compares it with the stored one, and hands the difference to the drawer. */
export function ImportDrawer({
  isOpen,
  onClose,
  present,
  onPropose,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly present: DocumentProperties
  readonly onPropose: (proposal: Proposal) => void
}) {
  const [text, setText] = useState('')
  const [fault, setFault] = useState<string>()
  const id = useId()
  const pick = async ({ target }: ChangeEvent<HTMLInputElement>) =>
    setText((await target.files?.[0]?.text()) ?? '')
  const compare = () => {
    const read = readDocument(text, present)
    if ('fault' in read) return setFault(read.fault)
    const differences = compareDocuments(present, read.properties)
    if (differences.length === 0) return setFault(t.rules.same)
    setFault(undefined)
    onClose()
    onPropose({
      title: t.rules.importChangeTitle,
      differences,
      after: () => read.properties,
      doneText: t.rules.importDone,
    })
  }
  return (
    <Drawer
      title={t.rules.importTitle}
      description={t.rules.importHint}
      isOpen={isOpen}
      onClose={onClose}
      foot={
        <Button tone="primary" disabled={text.trim() === ''} onClick={compare}>
          {t.rules.compare}
        </Button>
      }
    >
      <div className="stack">
        <label className="field">
          <span className="label">{t.rules.chooseFile}</span>
          <input type="file" accept=".json,application/json" onChange={(event) => void pick(event)} />
        </label>
        <div className="field">
          <label htmlFor={id}>{t.rules.document}</label>
          <textarea
            id={id}
            className="input mono"
            rows={18}
            spellCheck={false}
            value={text}
            aria-invalid={fault ? true : undefined}
            aria-describedby={fault ? `${id}-fault` : undefined}
            onChange={(event) => setText(event.target.value)}
          />
          {fault && (
            <span id={`${id}-fault`} className="fault-text" role="alert">
              {fault}
            </span>
          )}
        </div>
      </div>
    </Drawer>
  )
}

function compareDocuments(before: DocumentProperties, after: DocumentProperties): readonly Difference[] {
  const [old, now] = [before.policy, after.policy]
  const policy: Difference[] = [
    {
      label: t.rules.policyState,
      before: t.rules.states[old.dataMaskingState],
      after: t.rules.states[now.dataMaskingState],
    },
    {
      label: t.rules.mode,
      before: t.rules.modes[old.enforcementMode],
      after: t.rules.modes[now.enforcementMode],
    },
    {
      label: t.containment.setting,
      before: t.containment.settings[old.notContained ?? 'report'],
      after: t.containment.settings[now.notContained ?? 'report'],
    },
    { label: t.rules.exempt, before: list(old.exemptPrincipals), after: list(now.exemptPrincipals) },
  ]
  const columns = new Set([...before.rules, ...after.rules].map(nameOf))
  const rules = [...columns].sort().flatMap((label): Difference[] => {
    const [was, is] = [before, after].map(
      ({ rules: all }) => all.find((rule) => nameOf(rule) === label) ?? null,
    )
    if (isSameMask(was ?? null, is ?? null)) return []
    return [{ label, before: describeMask(was), after: describeMask(is) }]
  })
  return [...policy.filter((one) => one.before !== one.after), ...rules]
}

function list(entries: readonly string[]): string {
  return entries.join(', ') || t.states.none
}

function nameOf({ schemaName, tableName, columnName }: Rule): string {
  return `${schemaName}.${tableName}.${columnName}`
}
