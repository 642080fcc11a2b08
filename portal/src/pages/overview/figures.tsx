import { useQueries } from '@tanstack/react-query'
import { Link, type LinkProps } from '@tanstack/react-router'
import type { ActivitySummary } from '../../api/activity.ts'
import { exposuresQuery, recommendationsQuery } from '../../api/document.ts'
import { needsAttention, placeOf, type VisibleDatabase } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'

/** Each takes a look into a database: the sums are of the first ones only. */
const mostLooks = 8
const trendDays = 7

/** The state of everything in seven numbers, each with how it moved. */
export function Figures({
  databases,
  summary,
}: {
  readonly databases: readonly VisibleDatabase[]
  readonly summary: ActivitySummary | undefined
}) {
  const bound = databases.filter(({ properties }) => properties.boundTo !== null).slice(0, mostLooks)
  const exposed = useQueries({
    queries: bound.map((one) => ({ ...exposuresQuery(placeOf(one)), select: openOnes })),
  })
  const hinted = useQueries({ queries: bound.map((one) => recommendationsQuery(placeOf(one))) })
  const exposures = sumUp(exposed)
  const troubled = databases.filter(needsAttention)
  const open = databases.filter(({ properties }) => properties.rolesNotContained > 0)
  const sum = (read: (properties: VisibleDatabase['properties']) => number) =>
    databases.reduce((all, { properties }) => all + read(properties), 0)
  const week = summary?.days.slice(-trendDays)
  const added = week?.reduce((all, { rulesAdded, rulesRemoved }) => all + rulesAdded - rulesRemoved, 0)
  return (
    <dl className="figures">
      <Figure
        label={t.overview.rules}
        link={linkTo(bound[0], 'rules')}
        value={sum(({ ruleCount }) => ruleCount)}
        trend={added === undefined ? undefined : t.overview.inWeek(added)}
      />
      <Figure
        label={t.overview.exposures}
        link={linkTo(bound[findFirst(exposed)], 'exposures')}
        value={exposures}
        isAlarming={(exposures ?? 0) > 0}
        trend={tellTrend(bound, exposed, 'exposures')}
      />
      <Figure
        label={t.overview.recommended}
        link={linkTo(bound[findFirst(hinted)], 'data')}
        value={sumUp(hinted)}
        trend={tellTrend(bound, hinted, 'recommendations')}
      />
      <Figure
        label={t.overview.attention}
        link={{ to: '/databases' }}
        value={troubled.length}
        isAlarming={troubled.length > 0}
        trend={troubled.length > 0 ? troubled.map(({ name }) => name).join(', ') : t.overview.allEnforced}
      />
      <Figure
        label={t.containment.short}
        link={linkTo(open[0] ?? bound[0], 'people')}
        value={sum(({ rolesNotContained }) => rolesNotContained)}
        isAlarming={open.length > 0}
        trend={open.length > 0 ? open.map(({ name }) => name).join(', ') : t.containment.allContained}
      />
      <Figure
        label={t.overview.drift}
        link={linkTo(bound[0], 'activity')}
        value={sum(({ enforcement }) => enforcement.driftRepairs)}
        trend={t.overview.sinceBinding}
      />
      {summary && (
        <Figure
          label={t.overview.sessions}
          link={{ to: '/audit', search: { tab: 'masking', what: 'gateway/connect' } }}
          value={summary.openSessions}
          trend={t.overview.loginsToday(summary.days.at(-1)?.logins ?? 0)}
        />
      )}
    </dl>
  )
}

const openOnes = ({ value }: { readonly value: readonly unknown[] }) => value

/** A page of the database that the number leads to; with several, of the first one that it counts. */
function linkTo(
  database: VisibleDatabase | undefined,
  page: 'rules' | 'exposures' | 'data' | 'people' | 'activity',
): LinkProps {
  if (!database) return { to: '/databases' }
  return {
    to: `/databases/$subscription/$group/$server/$database/${page}`,
    params: { ...placeOf(database) },
  }
}

function findFirst(looks: readonly Look[]): number {
  return Math.max(
    0,
    looks.findIndex(({ data }) => (data?.length ?? 0) > 0),
  )
}

interface Look {
  readonly data?: readonly unknown[] | undefined
  readonly isError?: boolean
}

/** Undefined while a look is missing: the sum of the others would pass for the whole. */
function sumUp(looks: readonly Look[]): number | undefined {
  return looks.every(({ data }) => data)
    ? looks.reduce((sum, { data }) => sum + (data?.length ?? 0), 0)
    : undefined
}

/** How a number moved since the service last looked on another day, by the databases that it looked at on both. */
function tellTrend(
  databases: readonly VisibleDatabase[],
  looks: readonly Look[],
  name: keyof VisibleDatabase['properties']['earlierFindings'],
): string | undefined {
  const missing = looks.filter(({ data }) => !data)
  if (missing.some(({ isError }) => isError)) return t.overview.notAnswered
  if (missing.length > 0) return undefined
  const compared = databases.flatMap(({ properties }, at) => {
    const earlier = properties.earlierFindings[name]
    return earlier ? [{ day: earlier.day, moved: (looks[at]?.data?.length ?? 0) - earlier.count }] : []
  })
  const [first] = compared.map(({ day }) => day).toSorted()
  if (first === undefined) return t.overview.firstLook
  const moved = compared.reduce((sum, one) => sum + one.moved, 0)
  return t.overview.sinceDay(moved, new Date(`${first}T12:00`))
}

function Figure({
  label,
  link,
  value,
  trend,
  isAlarming = false,
}: {
  readonly label: string
  readonly link: LinkProps
  readonly value: number | undefined
  readonly trend?: string | undefined
  readonly isAlarming?: boolean
}) {
  return (
    <div className="card figure">
      <dt>
        <Link {...link}>{label}</Link>
      </dt>
      <dd className={isAlarming ? 'number alarming' : 'number'}>{value?.toLocaleString() ?? '–'}</dd>
      <dd className="trend faint truncate">{trend}</dd>
    </div>
  )
}
