import type pg from 'pg'

/** Knows which pools the caller holds a connection of, by an open transaction. */
export interface NestedUse {
  /** Runs a transaction of the pool. */
  within<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T>
  /** Throws where the caller has an open transaction of the pool. */
  refuse(pool: pg.Pool): void
}

/**
 * Set by tests alone: elsewhere it costs one comparison. A transaction that asks its own pool for a second connection passes every
 * test of one request, and waits for itself as soon as transactions like it hold all connections.
 */
export let nestedUse: NestedUse | undefined

export function watchNestedUse(chosen: NestedUse): void {
  nestedUse = chosen
}
