import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Database } from 'lucide-react'
import { lazy, Suspense, useMemo } from 'react'
import { eventsQuery, namesQuery } from '../../api/access.ts'
import { exposuresQuery, recommendationsQuery } from '../../api/document.ts'
import { allows, databasesQuery, permissionsQuery, placeOf, type VisibleDatabase } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { DateText } from '../../ui/date.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { Empty, Loaded, Skeleton } from '../../ui/states.tsx'
import { countByDay, describeEvent } from '../database/events.ts'
import { DatabasesTable } from '../databases/databases-table.tsx'
import './overview.css'

const DayChart = lazy(async () => ({ default: (await import('../../ui/chart.tsx')).DayChart }))
/** Each takes a look into a database: the sums are of the first ones only. */
const mostLooks = 8

export function OverviewPage() {
  const query = useQuery(databasesQuery)
  const { data: roles = [] } = useQuery(permissionsQuery(''))
  return (
    <Page
      title={t.overview.title}
      actions={
        <Link className="button" to="/welcome">
          {t.overview.welcome}
        </Link>
      }
    >
      <Loaded query={query}>
        {(databases) =>
          databases.length === 0 ? (
            <div className="card">
              <Empty icon={Database} title={t.databases.emptyTitle}>
                {t.databases.emptyHint}
              </Empty>
            </div>
          ) : (
            <>
              <Figures databases={databases} />
              {allows(roles, 'Vendor.Sql/auditEvents/read') && <Lately />}
              <Card title={t.overview.databases} isFlush>
                <DatabasesTable rows={databases} />
              </Card>
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function Figures({ databases }: { readonly databases: readonly VisibleDatabase[] }) {
  const bound = databases.filter(({ properties }) => properties.boundTo !== null).slice(0, mostLooks)
  const exposures = useQueries({ queries: bound.map((one) => exposuresQuery(placeOf(one))) })
  const hints = useQueries({ queries: bound.map((one) => recommendationsQuery(placeOf(one))) })
  const total = (lists: readonly { readonly data?: readonly unknown[] | undefined }[]) =>
    lists.some(({ data }) => data) ? lists.reduce((sum, { data }) => sum + (data?.length ?? 0), 0) : undefined
  const sum = (read: (database: VisibleDatabase) => number) =>
    databases.reduce((all, database) => all + read(database), 0)
  const troubled = databases.filter(({ properties }) =>
    ['Failed', 'Pending'].includes(properties.enforcement.state),
  )
  const open = total(exposures)
  return (
    <dl className="figures">
      <Figure label={t.overview.maskedColumns} value={sum(({ properties }) => properties.ruleCount)} />
      <Figure label={t.overview.exposures} value={open} isAlarming={(open ?? 0) > 0} />
      <Figure label={t.overview.recommended} value={total(hints)} />
      <Figure label={t.overview.attention} value={troubled.length} isAlarming={troubled.length > 0} />
      <Figure label={t.overview.drift} value={sum(({ properties }) => properties.enforcement.driftRepairs)} />
    </dl>
  )
}

function Figure({
  label,
  value,
  isAlarming = false,
}: {
  readonly label: string
  readonly value: number | undefined
  readonly isAlarming?: boolean
}) {
  return (
    <div className="card figure">
      <dt>{label}</dt>
      <dd className={isAlarming ? 'number alarming' : 'number'}>{value?.toLocaleString() ?? '–'}</dd>
    </div>
  )
}

/** Reads of masked data over the last month, and the newest events of every database. */
function Lately() {
  const query = useInfiniteQuery(eventsQuery('', 500))
  const events = useMemo(() => query.data?.pages.flatMap(({ value }) => value) ?? [], [query.data])
  const newest = events.slice(0, 8)
  const { data: names } = useQuery(namesQuery(newest.map(({ actor }) => actor.objectId)))
  const { days, values } = useMemo(() => countByDay(events), [events])
  const hasTouches = values.some((value) => value > 0)
  return (
    <div className="overview-pair">
      <Card title={t.overview.touches}>
        {hasTouches ? (
          <Suspense fallback={<Skeleton lines={6} />}>
            <DayChart label={t.overview.touches} days={days} values={values} />
          </Suspense>
        ) : (
          <p className="quiet small">{query.data ? t.overview.touchesNone : t.states.loading}</p>
        )}
      </Card>
      <Card title={t.overview.recent}>
        {newest.length === 0 && (
          <p className="quiet small">{query.data ? t.overview.recentNone : t.states.loading}</p>
        )}
        <ul className="lately">
          {newest.map((event) => {
            const { what, details } = describeEvent(event)
            return (
              <li key={event.id}>
                <span className="truncate">
                  <strong>{names?.get(event.actor.objectId) ?? event.actor.kind}</strong>{' '}
                  {what.charAt(0).toLowerCase() + what.slice(1)} <span className="quiet">{details}</span>
                </span>
                <span className="faint small">
                  <DateText at={event.time} isRelative />
                </span>
              </li>
            )
          })}
        </ul>
      </Card>
    </div>
  )
}
