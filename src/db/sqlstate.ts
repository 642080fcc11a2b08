import pg from 'pg'
import { Problem, type ProblemName } from '../kernel/problem.ts'
import { codeOf, sqlstate } from '../kernel/sqlstate.ts'

type ConstraintTranslation = ProblemName | (() => Problem)

const translations = new Map<string, ConstraintTranslation>()

/** Each room says once, next to its tables, which problem a violated constraint is. */
export function translateConstraints(map: Readonly<Record<string, ConstraintTranslation>>): void {
  for (const [constraint, translation] of Object.entries(map)) {
    if (translations.has(constraint)) throw new Error(`constraint ${constraint} is translated twice`)
    translations.set(constraint, translation)
  }
}

/**
 * Translates an error of the driver or the server into the problem that the caller sees. Other errors pass unchanged.
 */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof pg.DatabaseError) {
    const cause = redact(error)
    const translation = translations.get(error.constraint ?? '')
    if (typeof translation === 'string') return new Problem(translation, {}, { cause })
    if (translation) return Object.assign(translation(), { cause })
    if (error.code === sqlstate.diskFull) return storageFull(cause)
    return isUnavailability(error.code ?? '') ? unavailable(cause) : cause
  }
  return error instanceof ConnectionFailure ? unavailable(error) : error
}

/** The SQLSTATE of an error or, where it was translated, of its cause; empty where it has none. */
export function sqlstateOf(error: unknown): string {
  return codeOf(error instanceof Error && error.cause instanceof Error ? error.cause : error)
}

export function isRetryable(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError &&
    [sqlstate.serializationFailure, sqlstate.deadlockDetected].some((code) => code === error.code)
  )
}

export function storageFull(cause?: Error): Problem {
  return new Problem('StorageFull', {}, { cause, retryAfterSeconds: 30 })
}

function unavailable(cause: Error): Problem {
  return new Problem('DatabaseUnavailable', {}, { cause, retryAfterSeconds: 1 })
}

/** Connection, shutdown, being kept out, fail-over (a server turned read-only), exhaustion, time-outs, retries that ran out. */
function isUnavailability(code: string): boolean {
  return /^(08|28|3D|53|57|58|40001|40P01|55000|55P03|25006|25P03)/.test(code)
}

/** Of a server's text that is passed on: a hostile one would fill the log and the store. */
const longestText = 500
const longestStack = 5_000

/** The server was not reached, or not any more. What it was asked is not told: that could hold values. */
export class ConnectionFailure extends Error {
  readonly code: string

  constructor(error: unknown) {
    const { code, message } =
      error instanceof Error ? (error as Error & { code?: string }) : { message: 'unknown' }
    const reason = (code ?? message).slice(0, longestText)
    super(`database connection: ${reason}`)
    this.name = 'ConnectionFailure'
    this.code = reason
  }
}

/** The server quotes values in DETAIL, CONTEXT and data exceptions. None of that may be logged. */
function redact(error: pg.DatabaseError): Error {
  const [code, constraint, table, routine] = [error.code, error.constraint, error.table, error.routine].map(
    (text) => text?.slice(0, longestText),
  )
  const message = code?.startsWith('22')
    ? `data exception in ${routine}`
    : error.message.slice(0, longestText)
  const safe = new Error(`${message} (SQLSTATE ${code ?? ''})`)
  const frames = (error.stack ?? '')
    .slice(-longestStack)
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
  safe.name = 'DatabaseError'
  safe.stack = [`DatabaseError: ${safe.message}`, ...frames].join('\n')
  return Object.assign(safe, { code: code ?? '', ...(table && { table }), ...(constraint && { constraint }) })
}
