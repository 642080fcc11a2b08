import { join } from 'node:path'
import pino, { type Logger } from 'pino'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Settings } from '../settings.ts'

/** JSON lines on standard error; to a file where a person would have to look at them. */
export function openLog(settings: Settings): { log: Logger; file: string | undefined } {
  const file =
    settings.logFile ?? (process.stderr.isTTY ? join(settings.dataDir, 'masquerade.log') : undefined)
  try {
    const destination = file
      ? pino.destination({ dest: file, append: true, mkdir: true, sync: true, mode: 0o600 })
      : pino.destination({ dest: 2, sync: true })
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
