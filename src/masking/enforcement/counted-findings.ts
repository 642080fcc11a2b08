import { Type } from 'typebox'
import type { Query } from '../../db/query.ts'

const kept = { days: 92 }

type Finding = 'exposure' | 'recommendation'

/** Keeps the count as that of today, by the clock of UTC. A look that finds as many as the last one writes nothing. */
export async function keepCount(
  tx: Query,
  databaseId: string,
  kind: Finding,
  { length: count }: readonly unknown[],
): Promise<void> {
  await tx`
    with counted as (
      insert into counted_finding as past (database_id, kind, day, count)
      select id, ${kind}, (now() at time zone 'utc')::date, ${count} from masked_database where id = ${databaseId}
      on conflict (database_id, kind, day) do update set count = excluded.count where past.count <> excluded.count
      returning database_id, day
    )
    delete from counted_finding using counted
    where counted_finding.database_id = counted.database_id and counted_finding.day < counted.day - ${kept.days}::int`
}

const counted = Type.Union([
  Type.Object({ day: Type.String({ description: 'Such as 2026-11-16, in UTC' }), count: Type.Integer() }),
  Type.Null(),
])

/** The counts of the last day before today on which the service looked. */
export const earlierFindings = Type.Object({ exposures: counted, recommendations: counted })

interface Counted {
  readonly day: string
  readonly count: number
}

export interface EarlierFindings {
  readonly exposures: Counted | null
  readonly recommendations: Counted | null
}

export async function selectEarlierFindings(
  tx: Query,
  databaseIds: readonly string[],
): Promise<(databaseId: string) => EarlierFindings> {
  const rows = await tx<(Counted & { id: string; kind: Finding })[]>`
    select distinct on (database_id, kind) database_id as id, kind, day::text as day, count
    from counted_finding
    where database_id = any(${databaseIds}::uuid[]) and day < (now() at time zone 'utc')::date
    order by database_id, kind, day desc`
  const found = new Map(rows.map(({ id, kind, day, count }) => [`${id} ${kind}`, { day, count }]))
  return (id) => ({
    exposures: found.get(`${id} exposure`) ?? null,
    recommendations: found.get(`${id} recommendation`) ?? null,
  })
}
