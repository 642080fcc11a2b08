import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { eventsQuery, namesQuery } from '../../api/access.ts'
import { type ActivitySummary, summaryQuery } from '../../api/activity.ts'
import { allows, databasesQuery, permissionsQuery } from '../../api/masking.ts'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { DateText } from '../../ui/date.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { describeEvent, groupAlike } from '../database/events.ts'
import { DatabasesTable } from '../databases/databases-table.tsx'
import { QueryableDatabases } from '../databases/queryable-databases.tsx'
import { Figures } from './figures.tsx'
import { ReadsCard } from './reads-card.tsx'
import { WelcomeCard } from './welcome-card.tsx'
import './overview.css'

const shownLines = 10
/** More than lines: a person who looks around leaves the same event many times. */
const newestEvents = 40

export function OverviewPage() {
  const query = useQuery(databasesQuery)
  const { data: roles = [] } = useQuery(permissionsQuery(''))
  const mayReadAudit = allows(roles, 'Vendor.Sql/auditEvents/read')
  const { data: summary } = useQuery({ ...summaryQuery, enabled: mayReadAudit })
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
            <QueryableDatabases isAlone />
          ) : (
            <>
              <WelcomeCard databases={databases} />
              <Figures databases={databases} summary={summary} />
              {mayReadAudit && <Lately summary={summary} />}
              <Card title={t.overview.databases} isFlush>
                <DatabasesTable rows={databases} />
              </Card>
              <QueryableDatabases />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

/** Reads of masked data over the last month, and the newest events of every database. */
function Lately({ summary }: { readonly summary: ActivitySummary | undefined }) {
  const query = useInfiniteQuery(eventsQuery('', newestEvents))
  const newest = groupAlike(query.data?.pages[0]?.value ?? []).slice(0, shownLines)
  const readers = summary?.touchedBy ?? []
  const ids = [...newest.map(({ event }) => event.actor.objectId), ...readers.map(({ objectId }) => objectId)]
  const { data: names } = useQuery(namesQuery(ids, useReads('directory')))
  return (
    <div className="overview-pair">
      {summary && <ReadsCard summary={summary} names={names} />}
      <Card title={t.overview.recent}>
        {newest.length === 0 && (
          <p className="quiet small">{query.data ? t.overview.recentNone : t.states.loading}</p>
        )}
        <ul className="lately">
          {newest.map(({ event, count }) => {
            const { what, details } = describeEvent(event)
            return (
              <li key={event.id}>
                <span className="truncate">
                  <strong>{names?.get(event.actor.objectId) ?? event.actor.kind}</strong>{' '}
                  {what.charAt(0).toLowerCase() + what.slice(1)} <span className="quiet">{details}</span>
                </span>
                <span className="faint small">
                  {count > 1 && t.overview.times(count)} <DateText at={event.time} isRelative />
                </span>
              </li>
            )
          })}
        </ul>
      </Card>
    </div>
  )
}
