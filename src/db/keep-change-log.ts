import type { Logger } from 'pino'
import { pruneLog } from './change-log.ts'
import type { Query } from './query.ts'

const everyMs = 60 * 60 * 1000

/** Deletes old entries of the change log from time to time, on every node. Returns the function that stops it. */
export function keepChangeLog(sql: Query, tenantId: string, days: number, log: Logger): () => Promise<void> {
  let pruning: Promise<unknown> = Promise.resolve()
  const prune = () => {
    pruning = pruneLog(sql, tenantId, days).catch((err) =>
      log.warn({ err }, 'old changes of the directory could not be deleted'),
    )
  }
  const timer = setInterval(prune, everyMs).unref()
  return async () => {
    clearInterval(timer)
    await pruning
  }
}
