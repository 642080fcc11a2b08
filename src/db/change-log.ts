import type { Query } from './query.ts'

export type Change = {
  entity: string
  entityId: string
  kind: string
  data?: unknown
}

/**
 * Gives each change the tenant's next revision and logs it. Returns the last revision given.
 *
 * The counter row stays locked until commit: that makes revisions gap-free (a rollback takes its own back) and their
 * order the commit order. Call it last in the transaction, or the whole tenant's writers wait for the rest of it.
 */
export async function appendChanges(
  tx: Query,
  tenantId: string,
  changes: readonly Change[],
): Promise<number> {
  if (changes.length === 0) return await readRevision(tx, tenantId)
  const last = await takeRevisions(tx, tenantId, changes.length)
  const first = last - changes.length + 1
  const rows = changes.map(({ entity, entityId, kind, data }, at) => ({
    tenant_id: tenantId,
    revision: first + at,
    entity,
    entity_id: entityId,
    kind,
    data: data === undefined ? null : tx.json(data),
  }))
  // A statement takes at most 65,535 parameters.
  for (let at = 0; at < rows.length; at += 5_000)
    await tx`insert into change_log ${tx(rows.slice(at, at + 5_000))}`
  return last
}

/** Takes the next revisions for changes that are logged by a statement of their own, and returns the last of them. */
export async function takeRevisions(tx: Query, tenantId: string, count: number): Promise<number> {
  const [counter] = await tx<{ value: number }[]>`
    insert into revision_counter as counter (tenant_id, value) values (${tenantId}, ${count})
    on conflict (tenant_id) do update set value = counter.value + excluded.value
    returning value`
  if (!counter) throw new Error('the revision counter returned no row')
  return counter.value
}

/** The revision of the newest committed change; 0 before the first. */
export async function readRevision(sql: Query, tenantId: string): Promise<number> {
  const [counter] = await sql<
    { value: number }[]
  >`select value from revision_counter where tenant_id = ${tenantId}`
  return counter?.value ?? 0
}
