import { lockUntilCommit } from './advisory-locks.ts'
import { schemaName, type Tx } from './database.ts'
import type { Query } from './query.ts'
import { quoteLiteral, quoteQualified } from './quote.ts'

/** Tables in partitions by time (`sql/0036-partitioned-logs.sql`), with the time that one partition takes. */
const steps = { audit_event: '1 month', change_log: '7 days' } as const

export type PartitionedTable = keyof typeof steps

export const partitionedTables = Object.keys(steps) as PartitionedTable[]

/** Partitions that are made before they are needed: a service that was down for a while finds its own. */
const ahead = 3

export interface Partition {
  readonly name: string
  /** The first time that is not in it any more. */
  readonly end: Date
}

/** The partitions with an end, the oldest first; none while the table is not in partitions. */
export async function listPartitions(sql: Query, table: PartitionedTable): Promise<Partition[]> {
  return await sql<Partition[]>`
    select name, "end" from (
      select c.relname::text as name,
        substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \\(''([^'']+)''\\)')::timestamptz as "end"
      from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
      join pg_catalog.pg_class parent on parent.oid = i.inhparent
      join pg_catalog.pg_namespace n on n.oid = parent.relnamespace
      where n.nspname = ${schemaName} and parent.relname = ${table}) found
    where "end" is not null order by "end"`
}

/**
 * Makes the partitions of the present and of the next steps. A partition is attached, not created in its place: that would
 * make readers of the whole table wait. Returns how many were made.
 */
export async function addPartitions(tx: Tx, now = new Date()): Promise<number> {
  let made = 0
  for (const table of partitionedTables) {
    const last = (await listPartitions(tx, table)).at(-1)
    if (!last) continue
    for (const { start, end } of await listMissing(tx, table, last.end, now)) {
      await addPartition(tx, table, start, end)
      made++
    }
  }
  return made
}

interface Range {
  readonly start: Date
  readonly end: Date
}

async function listMissing(tx: Tx, table: PartitionedTable, last: Date, now: Date): Promise<Range[]> {
  return await tx<Range[]>`
    select start, start + ${steps[table]}::interval as "end" from generate_series(
      ${last}::timestamptz, ${now}::timestamptz + ${ahead} * ${steps[table]}::interval, ${steps[table]}::interval) start`
}

async function addPartition(tx: Tx, table: PartitionedTable, start: Date, end: Date): Promise<void> {
  const day = start.toISOString().slice(0, 10).replaceAll('-', '_')
  const [parent, fresh, rest] = [table, `${table}_${day}`, `${table}_default`].map((name) =>
    quoteQualified(schemaName, name),
  )
  const [from, to] = [start, end].map((time) => quoteLiteral(time.toISOString()))
  await tx.unsafe(`
    create table ${fresh} (like ${parent} including defaults including constraints including indexes);
    lock table ${rest} in access exclusive mode;
    with moved as (delete from ${rest} where at >= ${from} and at < ${to} returning *)
    insert into ${fresh} select * from moved;
    alter table ${parent} attach partition ${fresh} for values from (${from}) to (${to})`)
}

/** Adds what is missing, one node at a time. It gives up where another session holds a lock: the next hour is early enough. */
export async function keepPartitions(tx: Tx, now?: Date): Promise<number> {
  await yieldToOthers(tx)
  await lockUntilCommit(tx, 'partitions')
  return addPartitions(tx, now)
}

/** Statements that wait for a lock make every later reader wait behind them. */
export async function yieldToOthers(tx: Tx): Promise<void> {
  await tx`set local lock_timeout = '2s'`
}
