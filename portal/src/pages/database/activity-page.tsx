import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, History } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useMemo } from 'react'
import {
  type AuditEvent,
  type EnforcementReport,
  enforcementQuery,
  eventsQuery,
  namesQuery,
} from '../../api/access.ts'
import { pathOf } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { Segments } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Empty, FaultView, Loaded, Skeleton } from '../../ui/states.tsx'
import { StateBadge } from '../databases/state-badge.tsx'
import { countByDay, describeEvent, isOfKind, type Kind, writeCsv } from './events.ts'
import { useDatabasePlace, useRights } from './use-database.ts'
import './activity.css'

const DayChart = lazy(async () => ({ default: (await import('../../ui/chart.tsx')).DayChart }))
const route = '/databases/$subscription/$group/$server/$database/activity'

/** The actions of the service in the database, and the roles that touched masked data. */
export function ActivityPage() {
  const { mayReadAudit } = useRights()
  const query = useQuery(enforcementQuery(useDatabasePlace()))
  return (
    <>
      <Card title={t.activity.state}>
        <Loaded query={query}>{(report) => <Report report={report} />}</Loaded>
      </Card>
      {mayReadAudit ? <Events /> : <p className="quiet">{t.activity.noRight}</p>}
    </>
  )
}

function Report({ report }: { readonly report: EnforcementReport }) {
  return (
    <div className="stack">
      <dl className="facts across">
        <Fact name={t.databases.state}>
          <StateBadge state={report.state} /> {report.reason}
        </Fact>
        <Fact name={t.activity.since}>
          <DateText at={report.since} />
        </Fact>
        <Fact name={t.activity.checked}>
          <DateText at={report.checkedAt} isRelative />
        </Fact>
        <Fact name={t.activity.drift}>
          {report.driftRepairs}
          {report.lastDriftAt && (
            <>
              {' · '}
              <DateText at={report.lastDriftAt} isRelative />
            </>
          )}
        </Fact>
      </dl>
      {report.notes.length > 0 && (
        <ul className="stack tight small" aria-label={t.activity.notes}>
          {report.notes.map(({ code, target, message }) => (
            <li key={code + target}>
              <code>{target}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Events() {
  const place = useDatabasePlace()
  const { kind = 'all' } = useSearch({ from: route })
  const navigate = useNavigate({ from: route })
  const query = useInfiniteQuery(eventsQuery(pathOf(place)))
  const all = useMemo(() => query.data?.pages.flatMap(({ value }) => value) ?? [], [query.data])
  const { data: names } = useQuery(namesQuery(all.map(({ actor }) => actor.objectId)))
  const chart = useMemo(() => countByDay(all), [all])
  if (query.error) return <FaultView error={query.error} onRetry={() => void query.refetch()} />
  if (!query.data) return <Skeleton lines={8} />
  const shown = all.filter((event) => isOfKind(event, kind as Kind))
  const columns: readonly Column<AuditEvent>[] = [
    {
      key: 'time',
      header: t.activity.time,
      cell: ({ time }) => <DateText at={time} isRelative />,
      width: '140px',
    },
    {
      key: 'actor',
      header: t.activity.actor,
      cell: ({ actor, after }) => names?.get(actor.objectId) ?? roleOf(after) ?? actor.objectId,
    },
    { key: 'what', header: t.activity.what, cell: (event) => describeEvent(event).what },
    {
      key: 'details',
      header: t.activity.details,
      cell: (event) => <span className="quiet">{describeEvent(event).details}</span>,
    },
  ]
  const csv = () =>
    saveFile(`${place.database}-activity.csv`, 'text/csv', writeCsv(shown, names ?? new Map()))
  return (
    <Card
      title={t.activity.events}
      isFlush
      actions={
        <>
          <Segments
            label={t.activity.filter}
            value={kind as Kind}
            onChange={(next) =>
              void navigate({ search: next === 'all' ? {} : { kind: next }, replace: true })
            }
            choices={(Object.keys(t.activity.filters) as Kind[]).map((value) => ({
              value,
              label: t.activity.filters[value],
            }))}
          />
          <Button size="small" onClick={csv} disabled={shown.length === 0}>
            <Download size={13} aria-hidden />
            {t.activity.exportCsv}
          </Button>
        </>
      }
    >
      {chart.values.some((value) => value > 0) && (
        <div className="chart-frame">
          <p className="quiet small">{t.activity.chart}</p>
          <Suspense fallback={<Skeleton lines={6} />}>
            <DayChart label={t.activity.chart} days={chart.days} values={chart.values} />
          </Suspense>
        </div>
      )}
      {shown.length === 0 && !query.hasNextPage ? (
        <Empty icon={History} title={all.length === 0 ? t.activity.emptyTitle : t.activity.noMatch}>
          {all.length === 0 ? t.activity.emptyHint : undefined}
        </Empty>
      ) : (
        <DataTable
          label={t.activity.events}
          columns={columns}
          rows={shown}
          keyOf={({ id }) => id}
          height="560px"
          more={{
            has: query.hasNextPage,
            isLoading: query.isFetchingNextPage,
            load: () => void query.fetchNextPage(),
          }}
        />
      )}
    </Card>
  )
}

function roleOf(after: unknown): string | undefined {
  return typeof after === 'object' && after !== null && 'role' in after ? String(after.role) : undefined
}
