import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import type { Exposure } from '../../contracts/inspection.ts'
import type { Query } from '../../db/query.ts'
import { dateTime, oneOf } from '../schemas.ts'

/** Closed exposures are shown for a quarter of a year, and the last ones alone. */
const kept = { days: 92, most: 50 }

export const severities: readonly Exposure['severity'][] = ['high', 'medium', 'low']

export const concernedObjects = Type.Array(Type.Object({ kind: Type.String(), name: Type.String() }))

export const closedExposure = Type.Object(
  {
    code: Type.String(),
    severity: oneOf(severities),
    objects: concernedObjects,
    roles: Type.Array(Type.String()),
    explanation: Type.String(),
    foundDateTime: dateTime,
    closedDateTime: Type.Unsafe<string>({
      ...dateTime,
      description: 'The first look that did not find it any more',
    }),
  },
  { title: 'closedExposure' },
)

type Kept = Pick<Exposure, 'code' | 'severity' | 'objects' | 'roles' | 'explanation'>

export interface ClosedExposure extends Kept {
  readonly foundDateTime: string
  readonly closedDateTime: string
}

/**
 * Keeps the exposures of a look, and returns those of earlier looks that are closed by now, the last first. A look that finds
 * what the last one found writes nothing.
 */
export async function keepExposures(
  tx: Query,
  databaseId: string,
  open: readonly Exposure[],
): Promise<ClosedExposure[]> {
  const found = new Map(open.map(describe))
  const keys = [...found.keys()]
  const rows = keys.map((key) => ({ key, exposure: found.get(key) }))
  await tx`
    insert into found_exposure (database_id, key, exposure)
    select m.id, one.key, one.exposure
    from masked_database m cross join jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as one(key text, exposure jsonb)
    where m.id = ${databaseId} and not exists (
      select from found_exposure k where k.database_id = m.id and k.key = one.key and k.closed_at is null and k.exposure = one.exposure)
    order by one.key
    on conflict (database_id, key) do update set exposure = excluded.exposure, closed_at = null,
      found_at = case when found_exposure.closed_at is null then found_exposure.found_at else now() end`
  await tx`
    update found_exposure set closed_at = now()
    where database_id = ${databaseId} and closed_at is null and key <> all(${keys}::text[])`
  await tx`
    delete from found_exposure where database_id = ${databaseId} and closed_at < now() - make_interval(days => ${kept.days})`
  const closed = await tx<{ exposure: Kept; foundAt: Date; closedAt: Date }[]>`
    select exposure, found_at as "foundAt", closed_at as "closedAt" from found_exposure
    where database_id = ${databaseId} and closed_at is not null
    order by closed_at desc, key limit ${kept.most}`
  return closed.map(({ exposure, foundAt, closedAt }) => ({
    ...exposure,
    foundDateTime: foundAt.toISOString(),
    closedDateTime: closedAt.toISOString(),
  }))
}

/** An exposure is the same one as long as its code and objects are: roles come and go, and explanations name them. */
function describe({ code, severity, objects, roles, explanation }: Exposure): [key: string, Kept] {
  const text = JSON.stringify([code, objects])
  return [createHash('sha256').update(text).digest('hex'), { code, severity, objects, roles, explanation }]
}
