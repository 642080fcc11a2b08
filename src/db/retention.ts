import { lockUntilCommit } from './advisory-locks.ts'
import { type Database, schemaName, type Tx } from './database.ts'
import { listPartitions, type Partition, type PartitionedTable, yieldToOthers } from './partitions.ts'
import { quoteQualified } from './quote.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Writes a partition to an archive; when it rejects, the partition stays. */
export type Archive = (tx: Tx, partition: Partition) => Promise<void>

/** Drops the months of the audit whose last entry is older than the days given. Returns how many. */
export async function dropOldAudits(
  database: Database,
  days: number,
  archive?: Archive,
  now = new Date(),
): Promise<number> {
  return dropOld(database, 'audit_event', new Date(now.getTime() - days * dayMs), async (tx, partition) => {
    await archive?.(tx, partition)
    return true
  })
}

/**
 * Drops the weeks of the change log whose last entry is older than the days given, and a day more: an entry has the time at
 * which its transaction began, so that revisions across the end of a week may be in either. A reader who takes no entry
 * older than the days given (`hasEntry`) finds all that came after it. The newest entry stays.
 */
export async function dropOldChanges(
  database: Database,
  tenantId: string,
  days: number,
  now = new Date(),
): Promise<number> {
  const until = new Date(now.getTime() - (days + 1) * dayMs)
  return dropOld(database, 'change_log', until, async (tx, { name }) => {
    const [row] = await tx<{ isOld: boolean }[]>`
      select coalesce(max(revision) < (select value from revision_counter where tenant_id = ${tenantId}), true) as "isOld"
      from ${tx(name)} where tenant_id = ${tenantId}`
    return row?.isOld ?? false
  })
}

async function dropOld(
  database: Database,
  table: PartitionedTable,
  until: Date,
  mayDrop: (tx: Tx, partition: Partition) => Promise<boolean>,
): Promise<number> {
  let dropped = 0
  for (const partition of await listPartitions(database.sql, table)) {
    if (partition.end > until) break
    const isDropped = await database.transaction((tx) => dropPartition(tx, table, partition, mayDrop))
    if (!isDropped) break
    dropped++
  }
  return dropped
}

async function dropPartition(
  tx: Tx,
  table: PartitionedTable,
  partition: Partition,
  mayDrop: (tx: Tx, partition: Partition) => Promise<boolean>,
): Promise<boolean> {
  await yieldToOthers(tx)
  await lockUntilCommit(tx, 'partitions')
  // Another node may have been faster.
  if (!(await listPartitions(tx, table)).some(({ name }) => name === partition.name)) return true
  const name = quoteQualified(schemaName, partition.name)
  await tx`set local statement_timeout = 0`
  // Nothing is added behind the archive's back, and readers go on meanwhile.
  await tx.unsafe(`lock table ${name} in share mode`)
  if (!(await mayDrop(tx, partition))) return false
  await tx.unsafe(`drop table ${name}`)
  return true
}
