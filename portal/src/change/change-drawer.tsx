import { ArrowRight } from 'lucide-react'
import { type FormEvent, useId, useState } from 'react'
import { t } from '../texts/index.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/copy.tsx'
import { Drawer } from '../ui/layers.tsx'
import { FaultNotice } from '../ui/states.tsx'
import { toast } from '../ui/toasts.tsx'
import type { Change, Difference } from './change.ts'
import { layOutSql } from './lay-out-sql.ts'
import { offerUndo } from './offered-undo.ts'
import './change.css'

export type { Change, Difference } from './change.ts'

/** Every change of the portal passes here: what changes, whom it affects, the statements, and only then the button. */
export function ChangeDrawer({
  change,
  onClose,
}: {
  readonly change: Change | undefined
  readonly onClose: (isApplied: boolean) => void
}) {
  const [isWorking, setWorking] = useState(false)
  const [error, setError] = useState<unknown>()
  const formId = useId()
  const close = (isApplied: boolean) => {
    setError(undefined)
    onClose(isApplied)
  }
  const apply = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const wrong = event.currentTarget.querySelector<HTMLInputElement>('[aria-invalid=true]')
    if (wrong) return wrong.focus()
    if (!change || isWorking || change.isBlocked) return
    setWorking(true)
    setError(undefined)
    try {
      await change.apply()
      toast(change.doneText, {
        ...(change.undo && { action: { label: t.changes.undo, run: () => offerUndo(change) } }),
      })
      close(true)
    } catch (caught) {
      setError(caught)
    } finally {
      setWorking(false)
    }
  }
  return (
    <Drawer
      title={change?.title ?? ''}
      {...(change?.description !== undefined && { description: change.description })}
      isOpen={change !== undefined}
      onClose={() => !isWorking && close(false)}
      isKept={change?.fields !== undefined}
      foot={
        <>
          <Button onClick={() => close(false)} disabled={isWorking}>
            {t.states.cancel}
          </Button>
          <Button
            tone={change?.isDanger ? 'danger' : 'primary'}
            type="submit"
            form={formId}
            disabled={isWorking || change?.isBlocked === true}
          >
            {isWorking ? t.changes.working : (change?.confirmLabel ?? t.changes.confirm)}
          </Button>
        </>
      }
    >
      {change && (
        <form id={formId} className="stack" noValidate onSubmit={(event) => void apply(event)}>
          {change.fields}
          {change.differences.length > 0 && (
            <section className="stack tight">
              <h3>{t.changes.what}</h3>
              <Differences list={change.differences} />
            </section>
          )}
          {change.impact && (
            <section className="stack tight">
              <h3>{t.changes.impact}</h3>
              {change.impact}
            </section>
          )}
          {change.plan && (
            <section className="stack tight">
              <h3>{t.changes.plan}</h3>
              {change.plan}
            </section>
          )}
          {error !== undefined && <FaultNotice error={error} />}
        </form>
      )}
    </Drawer>
  )
}

export function Differences({ list }: { readonly list: readonly Difference[] }) {
  return (
    <ul className="differences">
      {list.map(({ label, before, after }) => (
        <li key={label}>
          <span className="quiet">{label}</span>
          <span className="line">
            {before !== undefined && <del>{before}</del>}
            {before !== undefined && after !== undefined && <ArrowRight size={13} aria-hidden />}
            {after !== undefined && <ins>{after}</ins>}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Statements as the database will get them. */
export function Statements({ list }: { readonly list: readonly string[] }) {
  if (list.length === 0) return <p className="quiet small">{t.changes.planNone}</p>
  return (
    <CodeBlock label={t.changes.plan} text={list.map((statement) => `${layOutSql(statement)};`).join('\n')} />
  )
}
