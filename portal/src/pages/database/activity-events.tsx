import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, History } from 'lucide-react'
import { useMemo } from 'react'
import { type AuditEvent, type EventKind, eventKinds, eventsQuery, namesQuery } from '../../api/access.ts'
import { databaseActivityQuery, shownDays } from '../../api/activity.ts'
import { pathOf } from '../../api/masking.ts'
import { useReads } from '../../session/readable.tsx'
import { LazyPart } from '../../shell/lazy-part.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { Segments } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Empty, Loaded, Skeleton } from '../../ui/states.tsx'
import { countByDay, describeEvent, writeCsv } from './events.ts'
import { useDatabasePlace } from './use-database.ts'

const loadChart = () => import('../../ui/chart.tsx')
const route = '/databases/$subscription/$group/$server/$database/activity'

/** The events of the database, of one kind or all: counted by day, and listed. The service does both. */
export function ActivityEvents() {
  const place = useDatabasePlace()
  const { kind: asked } = useSearch({ from: route })
  const kind = eventKinds.find((one) => one === asked)
  const query = useInfiniteQuery(eventsQuery(pathOf(place), undefined, kind))
  const rows = useMemo(() => query.data?.pages.flatMap(({ value }) => value), [query.data])
  const actors = (rows ?? []).map(({ actor }) => actor.objectId)
  const { data: names } = useQuery(namesQuery(actors, useReads('directory')))
  const csv = () =>
    saveFile(`${place.database}-activity.csv`, 'text/csv', writeCsv(rows ?? [], names ?? new Map()))
  return (
    <Card
      title={t.activity.events}
      isFlush
      actions={
        <>
          <KindFilter kind={kind} />
          <Button size="small" onClick={csv} disabled={!rows || rows.length === 0}>
            <Download size={13} aria-hidden />
            {query.hasNextPage ? t.activity.exportSome(rows?.length ?? 0) : t.activity.exportCsv}
          </Button>
        </>
      }
    >
      <Days kind={kind} />
      <Loaded
        query={{ data: rows, error: query.error, refetch: query.refetch }}
        skeleton={<Skeleton lines={8} />}
      >
        {(shown) =>
          shown.length === 0 ? (
            <Empty icon={History} title={kind ? t.activity.noMatch : t.activity.emptyTitle}>
              {kind ? undefined : t.activity.emptyHint}
            </Empty>
          ) : (
            <DataTable
              label={t.activity.events}
              columns={columnsWith(names)}
              rows={shown}
              keyOf={({ id }) => id}
              height="560px"
              more={{
                has: query.hasNextPage,
                isLoading: query.isFetchingNextPage,
                load: () => void query.fetchNextPage(),
              }}
            />
          )
        }
      </Loaded>
    </Card>
  )
}

function KindFilter({ kind }: { readonly kind: EventKind | undefined }) {
  const navigate = useNavigate({ from: route })
  return (
    <Segments
      label={t.activity.filter}
      value={kind ?? 'all'}
      onChange={(next) => void navigate({ search: next === 'all' ? {} : { kind: next }, replace: true })}
      choices={(['all', ...eventKinds] as const).map((value) => ({
        value,
        label: t.activity.filters[value],
      }))}
    />
  )
}

/** The events of the kind on each of the last days, whether the list has loaded them or not. */
function Days({ kind }: { readonly kind: EventKind | undefined }) {
  const { data } = useQuery(databaseActivityQuery(useDatabasePlace()))
  const chart = useMemo(() => data && countByDay(data, kind), [data, kind])
  if (!chart) return null
  const count = chart.values.reduce((sum, value) => sum + value, 0)
  if (count === 0) return null
  const label = t.activity.chart(t.activity.counted[kind ?? 'all'], count, shownDays)
  return (
    <div className="chart-frame">
      <p className="quiet small">{label}</p>
      <LazyPart name="chart" load={loadChart} lines={6}>
        {({ DayChart }) => <DayChart label={label} days={chart.days} values={chart.values} />}
      </LazyPart>
    </div>
  )
}

function columnsWith(names: ReadonlyMap<string, string> | undefined): readonly Column<AuditEvent>[] {
  return [
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
}

function roleOf(after: unknown): string | undefined {
  return typeof after === 'object' && after !== null && 'role' in after ? String(after.role) : undefined
}
