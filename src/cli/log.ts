import { constants, openSync } from 'node:fs'
import { join } from 'node:path'
import pino, { type Logger } from 'pino'
import { logFileName } from '../db/data-directory.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Settings } from '../settings.ts'

/** JSON lines on standard error; to a file where a person would have to look at them. */
export function openLog(settings: Settings): { log: Logger; file: string | undefined } {
  const own = process.stderr.isTTY ? join(settings.dataDir, logFileName) : undefined
  const file = settings.logFile ?? own
  try {
    const destination = settings.logFile
      ? pino.destination({ dest: settings.logFile, append: true, mkdir: true, sync: true, mode: 0o600 })
      : pino.destination({ dest: own ? openOwnLog(own) : 2, sync: true })
    // A full disk must not end the service, which would be all that a lost line tells.
    destination.on('error', () => {})
    const log = pino(
      { level: settings.logLevel, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
      destination,
    )
    return { log, file }
  } catch (cause) {
    throw new OperatorError(
      `The log file ${file} cannot be written (${(cause as NodeJS.ErrnoException).code}).`,
      { cause },
    )
  }
}

/** A link in the data directory could lead to any file of the user. The file that the operator names may be one, as /dev/stderr is. */
function openOwnLog(file: string): number {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW = 0 } = constants
  return openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
}
