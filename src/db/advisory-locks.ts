import type { Fragment, Query } from './query.ts'

/** Every advisory lock of the service's own database. A number is never used again: nodes of two versions may share it. */
export const advisoryLocks = {
  migrations: 7_208_951_143,
  signingKeys: 7_208_951_144,
  firstParty: 7_208_951_145,
  firstStart: 7_208_951_146,
  administrators: 7_208_951_147,
  assignments: 7_208_951_148,
  bindings: 7_208_951_149,
  partitions: 7_208_951_160,
  rights: 7_208_951_161,
  limits: 7_208_951_162,
} as const

/** Waits for other transactions that hold the lock, and holds it until this one ends. */
export async function lockUntilCommit(tx: Query, lock: keyof typeof advisoryLocks): Promise<void> {
  await tx`select ${takeLock(tx, lock)}`
}

/** The same for one caller alone: others go on while it waits for rows behind the lock. */
export async function lockCallerUntilCommit(
  tx: Query,
  lock: keyof typeof advisoryLocks,
  callerId: string,
): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${callerId}, ${advisoryLocks[lock]}))`
}

/** `lockUntilCommit` as a column of a larger statement. */
export function takeLock(tx: Query, lock: keyof typeof advisoryLocks): Fragment {
  return tx`pg_advisory_xact_lock(${advisoryLocks[lock]})`
}

/** The same, except that transactions which share the lock do not wait for each other. */
export function shareLock(tx: Query, lock: keyof typeof advisoryLocks): Fragment {
  return tx`pg_advisory_xact_lock_shared(${advisoryLocks[lock]})`
}

/** A column that ends the transaction where a lock behind this statement is not free in time. COMMIT has no other limit. */
export function limitWaits(tx: Query, ms: number): Fragment {
  return tx`set_config('lock_timeout', ${String(ms)}, true)`
}
