import { VenetianMask } from 'lucide-react'
import { useMemo } from 'react'
import type { ActivitySummary } from '../../api/activity.ts'
import { LazyPart } from '../../shell/lazy-part.tsx'
import { t } from '../../texts/index.ts'
import { Card } from '../../ui/page.tsx'
import { Empty } from '../../ui/states.tsx'

const loadChart = () => import('../../ui/chart.tsx')
/** The gravest first. */
const outcomes = ['raw', 'masked', 'denied'] as const

/** Reads of masked columns over the last month: raw ones and who made them, then masked and denied ones. */
export function ReadsCard({
  summary: { days, touchedBy },
  names,
}: {
  readonly summary: ActivitySummary
  readonly names: ReadonlyMap<string, string> | undefined
}) {
  const chart = useMemo(
    () => ({
      days: days.map(({ start }) => Date.parse(start) / 1000),
      values: days.map(({ reads }) => reads.raw),
    }),
    [days],
  )
  const most = Math.max(1, ...touchedBy.map(({ reads }) => reads.raw))
  return (
    <Card title={t.overview.readsTitle}>
      {touchedBy.length === 0 ? (
        <Empty icon={VenetianMask} title={t.overview.readsNone}>
          {t.overview.readsNoneHint}
        </Empty>
      ) : (
        <>
          <dl className="reads">
            {outcomes.map((how) => (
              <div key={how}>
                <dt className="quiet small">{t.overview.reads[how]}</dt>
                <dd className="number">
                  {days.reduce((sum, { reads }) => sum + reads[how], 0).toLocaleString()}
                </dd>
              </div>
            ))}
          </dl>
          <LazyPart name="chart" load={loadChart} lines={6}>
            {({ DayChart }) => <DayChart label={t.overview.rawReads} {...chart} />}
          </LazyPart>
          <ul className="readers small" aria-label={t.overview.readers}>
            {touchedBy.map(({ objectId, reads }) => (
              <li key={objectId}>
                <span className="reader-bar" style={{ width: `${(100 * reads.raw) / most}%` }} />
                <span className="truncate">{names?.get(objectId) ?? objectId}</span>
                <span className="number quiet">
                  {outcomes
                    .filter((how) => reads[how] > 0)
                    .map((how) => `${reads[how].toLocaleString()} ${t.activity.touchedColumns[how]}`)
                    .join(' · ')}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  )
}
