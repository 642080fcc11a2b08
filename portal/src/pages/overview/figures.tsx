import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ActivitySummary } from '../../api/activity.ts'
import { exposuresQuery, recommendationsQuery } from '../../api/document.ts'
import { placeOf, type VisibleDatabase } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { compareCount } from './past-counts.ts'

/** Each takes a look into a database: the sums are of the first ones only. */
const mostLooks = 8
const trendDays = 7

/** The state of everything in six numbers, each with how it moved. */
export function Figures({
  databases,
  summary,
}: {
  readonly databases: readonly VisibleDatabase[]
  readonly summary: ActivitySummary | undefined
}) {
  const bound = databases.filter(({ properties }) => properties.boundTo !== null).slice(0, mostLooks)
  const exposures = useTotal(useQueries({ queries: bound.map((one) => exposuresQuery(placeOf(one))) }))
  const hints = useTotal(useQueries({ queries: bound.map((one) => recommendationsQuery(placeOf(one))) }))
  const troubled = databases.filter(({ properties }) =>
    ['Failed', 'Pending'].includes(properties.enforcement.state),
  )
  const sum = (read: (properties: VisibleDatabase['properties']) => number) =>
    databases.reduce((all, { properties }) => all + read(properties), 0)
  const week = summary?.days.slice(-trendDays)
  const added = week?.reduce((all, { rulesAdded, rulesRemoved }) => all + rulesAdded - rulesRemoved, 0)
  return (
    <dl className="figures">
      <Figure
        label={t.overview.maskedColumns}
        value={sum(({ ruleCount }) => ruleCount)}
        trend={added === undefined ? undefined : t.overview.inWeek(added)}
      />
      <Figure
        label={t.overview.exposures}
        value={exposures}
        isAlarming={(exposures ?? 0) > 0}
        trend={useTrend('exposures', exposures)}
      />
      <Figure label={t.overview.recommended} value={hints} trend={useTrend('recommendations', hints)} />
      <Figure
        label={t.overview.attention}
        value={troubled.length}
        isAlarming={troubled.length > 0}
        trend={troubled.length > 0 ? troubled.map(({ name }) => name).join(', ') : t.overview.allEnforced}
      />
      <Figure
        label={t.overview.drift}
        value={sum(({ enforcement }) => enforcement.driftRepairs)}
        trend={t.overview.sinceBinding}
      />
      {summary && (
        <Figure
          label={t.overview.sessions}
          value={summary.openSessions}
          trend={t.overview.loginsToday(summary.days.at(-1)?.logins ?? 0)}
        />
      )}
    </dl>
  )
}

function useTotal(lists: readonly { readonly data?: readonly unknown[] | undefined }[]): number | undefined {
  return lists.some(({ data }) => data) || lists.length === 0
    ? lists.reduce((sum, { data }) => sum + (data?.length ?? 0), 0)
    : undefined
}

/** How a number moved since the reader last looked on another day. */
function useTrend(name: string, count: number | undefined): string | undefined {
  return useMemo(() => {
    if (count === undefined) return undefined
    const past = compareCount(name, count)
    if (!past) return t.overview.firstLook
    return t.overview.sinceDay(count - past.count, new Date(`${past.day}T12:00`))
  }, [name, count])
}

function Figure({
  label,
  value,
  trend,
  isAlarming = false,
}: {
  readonly label: string
  readonly value: number | undefined
  readonly trend?: string | undefined
  readonly isAlarming?: boolean
}) {
  return (
    <div className="card figure">
      <dt>{label}</dt>
      <dd className={isAlarming ? 'number alarming' : 'number'}>{value?.toLocaleString() ?? '–'}</dd>
      <dd className="trend faint truncate">{trend}</dd>
    </div>
  )
}
