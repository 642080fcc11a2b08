import type { Query } from './query.ts'

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

/** Marks the store as restored from a backup. */
export async function noteRestore(sql: Query): Promise<void> {
  await sql`update instance set restored_at = now()`
}

/** When the store was last restored from a backup; null: never. */
export async function readRestoredAt(sql: Query): Promise<Date | null> {
  const [row] = await sql<{ at: Date | null }[]>`select restored_at as at from instance`
  return row?.at ?? null
}
