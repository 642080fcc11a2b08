import { setTimeout as wait } from 'node:timers/promises'
import type { Sql } from '../db/sql.ts'
import type { Tx } from '../db/transaction.ts'

/** A turn keeps the lease for so long without a renewal. */
const leaseMs = 8_000
const renewEveryMs = 2_000
/**
 * PostgreSQL ends a session that leaves the transaction of a turn idle for so long: less than what is left of a
 * renewed lease.
 */
export const idleMs = 4_000
const graceMs = 2_000
const longestPauseMs = 200

/** Another node, or another turn of this one, holds the lease, or held it since the policy was read. */
export class LeaseLost extends Error {
  readonly code = 'ELEASE'
  /** It was waited for as long as a lease lasts. */
  readonly isHeld: boolean

  constructor(message: string, isHeld = false) {
    super(message)
    this.isHeld = isHeld
  }
}

export interface TurnLease {
  readonly epoch: number
  /** Rejects with `LeaseLost` unless the lease outlasts every commit that PostgreSQL can still take from this turn. */
  requireHeld(): Promise<void>
  release(): Promise<void>
}

/** Decides which node changes a masked database: one turn at a time, each with an epoch of its own. */
export interface Lease {
  /** Waits for the end of the turn under way. Returns the epoch of the last turn, to be read before the policy is. */
  look(): Promise<number>
  /** Rejects with `LeaseLost` when there was a turn since `seen`. The epoch is above `least`. */
  take(seen: number, least: number): Promise<TurnLease>
}

/** Leases on the databases that this node changes, in the service's own database. */
export function createLeases(sql: Sql, holder: string): (databaseId: string) => Lease {
  return (databaseId) => ({
    look: () => awaitEnd(sql, databaseId),

    async take(seen, least) {
      const [row] = await sql<{ epoch: number }[]>`
        insert into enforcement_lease as l (database_id, holder, epoch, until)
        values (${databaseId}, ${holder}, ${least}::int8 + 1, now() + ${leaseMs} * interval '1 millisecond')
        on conflict (database_id) do update set holder = excluded.holder, until = excluded.until,
          epoch = greatest(l.epoch, ${least}::int8) + 1
        where l.epoch = ${seen} and l.until <= now() returning epoch`
      if (!row) throw new LeaseLost('another node changed the database in between')
      return keep(sql, databaseId, row.epoch)
    },
  })
}

/** Waits for the end of the turn under way. Rejects with `LeaseLost` when that takes longer than a lease lasts. */
async function awaitEnd(sql: Sql, databaseId: string): Promise<number> {
  const end = performance.now() + leaseMs + graceMs
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const [row] = await sql<{ epoch: number; isOver: boolean }[]>`
      select epoch, until <= now() as "isOver" from enforcement_lease where database_id = ${databaseId}`
    if (!row || row.isOver) return row?.epoch ?? 0
    if (performance.now() > end) throw new LeaseLost('another node is changing the database', true)
    await wait(pauseMs * (0.5 + Math.random()))
  }
}

function keep(sql: Sql, databaseId: string, epoch: number): TurnLease {
  const extend = () => sql`
    update enforcement_lease set until = now() + ${leaseMs} * interval '1 millisecond'
    where database_id = ${databaseId} and epoch = ${epoch}`
  // A store that does not answer costs a renewal; `requireHeld` tells whether that was one too many.
  const timer = setInterval(() => void extend().catch(() => {}), renewEveryMs).unref()
  return {
    epoch,
    async requireHeld() {
      const held = await sql`
        select 1 from enforcement_lease where database_id = ${databaseId} and epoch = ${epoch}
          and until > now() + ${idleMs} * interval '1 millisecond'`
      if (held.length === 0) throw new LeaseLost('the lease on the database ran out')
    },
    async release() {
      clearInterval(timer)
      // Without an answer it runs out by itself.
      await sql`
        update enforcement_lease set until = now() where database_id = ${databaseId} and epoch = ${epoch}`.catch(
        () => {},
      )
    },
  }
}

/**
 * Keeps a turn that lost its lease from committing. The masked database records the highest epoch, so that a turn is
 * refused there also after the store has forgotten a lease.
 */
export class Fence {
  readonly #lease: Lease | undefined
  #seen = 0
  #held: TurnLease | undefined

  constructor(lease: Lease | undefined) {
    this.#lease = lease
  }

  /** Runs before the policy is read. */
  async look(): Promise<void> {
    this.#seen = (await this.#lease?.look()) ?? 0
  }

  /** Runs before the first change. `recorded`: the epoch in the masked database. */
  async enter(recorded: number): Promise<void> {
    this.#held ??= await this.#lease?.take(this.#seen, recorded)
  }

  /** Records the epoch in the schema of our records. */
  async raise(tx: Tx, schema: string, recorded: number): Promise<void> {
    const epoch = this.#held?.epoch ?? recorded + 1
    const raised = await tx`
      update ${tx(schema)}.policy set epoch = ${epoch} where coalesce(epoch, 0) < ${epoch} returning 1`
    if (raised.length === 0) throw new LeaseLost('another node changed the database later')
  }

  /** The last statement before the commit. */
  async requireHeld(): Promise<void> {
    await this.#held?.requireHeld()
  }

  async release(): Promise<void> {
    await this.#held?.release()
    this.#held = undefined
  }
}
