import type { ReactNode } from 'react'
import { t } from '../../texts/index.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { DateText } from '../../ui/date.tsx'
import { Drawer } from '../../ui/layers.tsx'

export interface ShownEntry {
  readonly action: string
  readonly at: string
  readonly who: ReactNode
  readonly target: ReactNode
  readonly requestId: string | null
  readonly changes: readonly ValueChange[]
}

export interface ValueChange {
  readonly name: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** One entry of an audit: each value that changed, before and after. */
export function EntryDrawer({
  entry,
  onClose,
}: {
  readonly entry: ShownEntry | undefined
  readonly onClose: () => void
}) {
  return (
    <Drawer title={entry?.action ?? ''} isOpen={entry !== undefined} onClose={onClose}>
      {entry && (
        <div className="stack">
          <dl className="facts">
            <dt>{t.audit.when}</dt>
            <dd>
              <DateText at={entry.at} />
            </dd>
            <dt>{t.audit.who}</dt>
            <dd>{entry.who}</dd>
            <dt>{t.audit.target}</dt>
            <dd>{entry.target}</dd>
            {entry.requestId && (
              <>
                <dt>{t.audit.requestId}</dt>
                <dd>
                  <code>{entry.requestId}</code> <CopyButton text={entry.requestId} />
                </dd>
              </>
            )}
          </dl>
          <h3>{t.audit.changed}</h3>
          {entry.changes.length === 0 && <p className="quiet small">{t.audit.unchanged}</p>}
          <dl className="diff">
            {entry.changes.map(({ name, before, after }) => (
              <div key={name}>
                <dt>{name}</dt>
                {before !== undefined && (
                  <dd className="was">
                    <span className="visually-hidden">{t.audit.before}: </span>− {before}
                  </dd>
                )}
                {after !== undefined && (
                  <dd className="is">
                    <span className="visually-hidden">{t.audit.after}: </span>+ {after}
                  </dd>
                )}
              </div>
            ))}
          </dl>
        </div>
      )}
    </Drawer>
  )
}
