import postgres from 'postgres'
import { Problem, type ProblemName } from '../kernel/problem.ts'

type ConstraintTranslation = ProblemName | (() => Problem)

const translations = new Map<string, ConstraintTranslation>()

/** Each room says once, next to its tables, which problem a violated constraint is. */
export function translateConstraints(map: Readonly<Record<string, ConstraintTranslation>>): void {
  for (const [constraint, translation] of Object.entries(map)) {
    if (translations.has(constraint)) throw new Error(`constraint ${constraint} is translated twice`)
    translations.set(constraint, translation)
  }
}

/** What the caller should see of an error of the client or server. Errors from elsewhere come back as they are. */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof postgres.PostgresError) {
    const cause = redact(error)
    const translation = translations.get(error.constraint_name ?? '')
    if (typeof translation === 'string') return new Problem(translation, {}, { cause })
    if (translation) return Object.assign(translation(), { cause })
    return isUnavailability(error.code) ? unavailable(cause) : cause
  }
  return isConnectionFailure(error) ? unavailable(new Error(`database connection: ${error.code}`)) : error
}

export function isRetryable(error: unknown): boolean {
  return error instanceof postgres.PostgresError && (error.code === '40001' || error.code === '40P01')
}

function unavailable(cause: Error): Problem {
  return new Problem('DatabaseUnavailable', {}, { cause, retryAfterSeconds: 1 })
}

/** Connection, shutdown, fail-over (a server turned read-only), exhaustion, time-outs, and retries that ran out. */
function isUnavailability(sqlstate: string): boolean {
  return /^(08|53|57|58|40001|40P01|55P03|25006)/.test(sqlstate)
}

const clientFailures =
  /^(CONNECT_TIMEOUT|CONNECTION_\w+|ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT|EACCES)$/

/** The client hangs the query's text on every error it rejects a query with; a socket error without one is not ours. */
function isConnectionFailure(error: unknown): error is Error & { code: string } {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false
  const isClientCode = /^CONNECT(ION)?_/.test(error.code)
  return clientFailures.test(error.code) && (isClientCode || 'query' in error)
}

/** The server quotes values in DETAIL, CONTEXT and data exceptions; the client adds the parameters. None may be logged. */
function redact(error: postgres.PostgresError): Error {
  const isAboutData = error.code.startsWith('22')
  const message = isAboutData ? `data exception in ${error.routine}` : error.message
  const safe = new Error(`${message} (SQLSTATE ${error.code})`)
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  safe.name = 'DatabaseError'
  safe.stack = [`DatabaseError: ${safe.message}`, ...frames].join('\n')
  return Object.assign(safe, {
    code: error.code,
    ...(error.table_name && { table: error.table_name }),
    ...(error.constraint_name && { constraint: error.constraint_name }),
  })
}
