import { Problem } from '../kernel/problem.ts'

/** The answer where the service's own database is away or full; undefined for every other failure. */
export function describeOutage(failure: unknown) {
  if (!(failure instanceof Problem) || (failure.status !== 503 && failure.status !== 507)) return undefined
  const { status, message, retryAfterSeconds = 1 } = failure
  return {
    status,
    error: 'temporarily_unavailable',
    description: message,
    retryAfter: String(retryAfterSeconds),
  }
}
