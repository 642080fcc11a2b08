import type { MaskingEvent } from '../../api/audit.ts'
import { t } from '../../texts/index.ts'
import { Card } from '../../ui/page.tsx'

interface Touches {
  readonly statements?: readonly {
    readonly count?: number
    readonly masked?: readonly unknown[]
    readonly raw?: readonly unknown[]
  }[]
}

const shown = 8

/** How often each masked column was read through the gateway, in the entries that are loaded. */
export function TouchChart({ events }: { readonly events: readonly MaskingEvent[] }) {
  const counted = [...countTouches(events)].toSorted((one, other) => other[1] - one[1]).slice(0, shown)
  if (counted.length === 0) return null
  const most = counted[0]?.[1] ?? 1
  return (
    <Card title={t.audit.touchedTitle}>
      <p className="quiet small touch-hint">{t.audit.touchedHint}</p>
      <ul className="touch-chart">
        {counted.map(([column, count]) => (
          <li key={column}>
            <code className="truncate">{column}</code>
            <span
              className="touch-bar"
              style={{ width: `${Math.max(2, (count / most) * 100)}%` }}
              aria-hidden
            />
            <span className="number">{count.toLocaleString()}</span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function countTouches(events: readonly MaskingEvent[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { action, after } of events) {
    if (action !== 'gateway/touch') continue
    for (const { count = 1, masked = [], raw = [] } of (after as Touches).statements ?? [])
      for (const column of [...masked, ...raw]) {
        const name = typeof column === 'string' ? column : JSON.stringify(column)
        counts.set(name, (counts.get(name) ?? 0) + count)
      }
  }
  return counts
}
