import type { Logger } from 'pino'
import type { Database } from './database.ts'
import { createArchive } from './export-audit.ts'
import { keepPartitions } from './partitions.ts'
import { dropOldAudits, dropOldChanges } from './retention.ts'

const everyMs = 60 * 60 * 1000

export interface LogRetention {
  readonly changeLogDays: number
  /** 0: for ever. */
  readonly auditLogDays: number
  readonly auditArchiveDir: string | undefined
}

/**
 * Makes partitions of the audit and the change log before they are needed, and drops old ones, on every node: at the start and
 * every hour. Returns the function that stops it.
 */
export function keepLogs(
  database: Database,
  tenantId: string,
  { changeLogDays, auditLogDays, auditArchiveDir }: LogRetention,
  log: Logger,
): () => Promise<void> {
  const archive = auditArchiveDir === undefined ? undefined : createArchive(auditArchiveDir, tenantId)
  const keep = async () => {
    await database
      .transaction((tx) => keepPartitions(tx))
      .catch((err) => log.warn({ err }, 'partitions of the audit and the change log could not be made'))
    await dropOldChanges(database, tenantId, changeLogDays).catch((err) =>
      log.warn({ err }, 'old changes of the directory could not be dropped'),
    )
    if (auditLogDays === 0) return
    await dropOldAudits(database, auditLogDays, archive).catch((err) =>
      log.warn({ err }, 'old audit entries could not be archived or dropped'),
    )
  }
  let keeping = keep()
  const timer = setInterval(() => {
    keeping = keep()
  }, everyMs).unref()
  return async () => {
    clearInterval(timer)
    await keeping
  }
}
