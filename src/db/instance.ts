import type { Fragment, Query } from './query.ts'

/** The tenant of this installation; undefined when its row is missing. */
export async function readTenantId(sql: Query): Promise<string | undefined> {
  const [row] = await sql<{ tenant_id: string }[]>`select tenant_id from masquerade.instance`
  return row?.tenant_id
}

/** True until the sample was offered to this installation. */
export async function awaitsSample(sql: Query): Promise<boolean> {
  return (await sql`select 1 from instance where sampled_at is null`).length > 0
}

export async function noteSample(sql: Query): Promise<void> {
  await sql`update instance set sampled_at = now()`
}

/** The id of the secret key that seals; undefined: the one of the first start. */
export async function readSealingKey(sql: Query): Promise<string | undefined> {
  const [row] = await sql<{ id: string | null }[]>`select ${selectSealingKey(sql)} as id`
  return row?.id ?? undefined
}

/** The same as a part of a larger statement. */
export const selectSealingKey = (sql: Query): Fragment => sql`(select sealing_key from masquerade.instance)`

/** Null: the only key seals. Returns since when the key seals, on the clock of the database. */
export async function writeSealingKey(sql: Query, id: string | null): Promise<Date> {
  const [row] = await sql<{ since: Date }[]>`
    update instance set sealing_key = ${id},
      sealing_since = case when sealing_key is not distinct from ${id}::text then sealing_since else clock_timestamp() end
    returning coalesce(sealing_since, clock_timestamp()) as since`
  if (!row) throw new Error('the instance row is missing')
  return row.since
}

/** Marks the store as restored from a backup. */
export async function noteRestore(sql: Query): Promise<void> {
  await sql`update instance set restored_at = now()`
}

/** When the store was last restored from a backup; null: never. */
export async function readRestoredAt(sql: Query): Promise<Date | null> {
  const [row] = await sql<{ at: Date | null }[]>`select restored_at as at from instance`
  return row?.at ?? null
}
