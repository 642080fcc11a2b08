import type { Verdict } from '../../contracts/verdict.ts'
import type { Sql } from '../../db/sql.ts'
import { selectBound } from '../binding/find-bound.ts'

export interface ContainmentCount {
  /** The resource. */
  readonly id: string
  /** `2`; 0 before the first look. */
  readonly notContained: number
}

/** A look that finds as many roles as the last one writes nothing. */
export async function keepContained(
  sql: Sql,
  databaseId: string,
  verdicts: readonly Verdict[],
): Promise<void> {
  const count = verdicts.filter(({ contained }) => !contained).length
  await sql`
    insert into containment_look as last (database_id, not_contained)
    select d.id, ${count}::int from (${selectBound(sql)}) d where d.id = ${databaseId}
    on conflict (database_id) do update set not_contained = excluded.not_contained
      where last.not_contained <> excluded.not_contained`
}

export async function listContained(sql: Sql): Promise<ContainmentCount[]> {
  return await sql<ContainmentCount[]>`
    select d.resource_id as id, coalesce(l.not_contained, 0) as "notContained"
    from (${selectBound(sql)}) d left join containment_look l on l.database_id = d.id order by d.key`
}

/** By the database; 0 before the first look. */
export async function readContained(
  sql: Sql,
  databaseIds: readonly string[],
): Promise<(databaseId: string) => number> {
  const rows = await sql<{ id: string; count: number }[]>`
    select database_id as id, not_contained as count from containment_look
    where database_id = any(${databaseIds}::uuid[])`
  const counts = new Map(rows.map(({ id, count }) => [id, count]))
  return (id) => counts.get(id) ?? 0
}
