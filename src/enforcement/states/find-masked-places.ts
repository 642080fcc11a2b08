import type { Sql } from '../../db/sql.ts'
import type { BoundDatabases } from './state-store.ts'

/** Those of the places, as `readPlace` names them, that are of bound databases with masks. */
export async function findMaskedPlaces(
  sql: Sql,
  bound: BoundDatabases,
  places: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ place: string }[]>`
    select p.place from unnest(${places}::text[]) p (place) where exists (
      select from (${bound(sql)}) d
      where exists (select from copied_record c where c.database_id = d.id and c.place = p.place)
        or exists (select from closed_relation r where r.database_id = d.id and r.place = p.place))`
  return rows.map(({ place }) => place)
}
