import type { MaskingEvent } from '../../api/audit.ts'
import { t } from '../../texts/index.ts'
import { Card } from '../../ui/page.tsx'

const outcomes = ['raw', 'masked', 'denied'] as const
type Counts = Record<(typeof outcomes)[number], number>

interface Touches {
  readonly statements?: readonly ({
    readonly count?: number
    /** Where the policy is observed, it stands for raw. */
    readonly wouldMask?: readonly unknown[]
  } & { readonly [how in keyof Counts]?: readonly unknown[] })[]
}

const shown = 8

/** How often each masked column was read raw, read masked or denied, in the entries that are loaded: raw reads first. */
export function TouchChart({ events }: { readonly events: readonly MaskingEvent[] }) {
  const counted = [...countTouches(events)]
    .toSorted(([, one], [, other]) => compare(other, one))
    .slice(0, shown)
  if (counted.length === 0) return null
  const most = Math.max(...counted.map(([, { raw, masked, denied }]) => raw + masked + denied))
  return (
    <Card title={t.audit.touchedTitle}>
      <p className="quiet small touch-hint">{t.audit.touchedHint}</p>
      <ul className="touch-chart">
        {counted.map(([column, counts]) => (
          <li key={column}>
            <code className="truncate">{column}</code>
            <span className="touch-bar" aria-hidden>
              {outcomes.map((how) => (
                <span key={how} className={how} style={{ width: `${(100 * counts[how]) / most}%` }} />
              ))}
            </span>
            <span className="number">
              {outcomes
                .filter((how) => counts[how] > 0)
                .map((how) => `${counts[how].toLocaleString()} ${t.activity.touchedColumns[how]}`)
                .join(' · ')}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function compare(one: Counts, other: Counts): number {
  return one.raw - other.raw || one.masked - other.masked || one.denied - other.denied
}

function countTouches(events: readonly MaskingEvent[]): ReadonlyMap<string, Counts> {
  const counts = new Map<string, Counts>()
  for (const { action, after } of events) {
    if (action !== 'gateway/touch') continue
    for (const { count = 1, wouldMask = [], ...columns } of (after as Touches).statements ?? [])
      for (const how of outcomes)
        for (const column of [...(columns[how] ?? []), ...(how === 'raw' ? wouldMask : [])]) {
          const name = typeof column === 'string' ? column : JSON.stringify(column)
          const known = counts.get(name) ?? { raw: 0, masked: 0, denied: 0 }
          counts.set(name, { ...known, [how]: known[how] + count })
        }
  }
  return counts
}
