import type { Finding } from '../contracts/preflight.ts'

/** The database is not one in which masks can hold. */
export class Unfit extends Error {}

/** Another node has its turn. It was waited for. */
export class TurnUnderWay extends Error {
  readonly code = 'EUNDERWAY'
}

/** One line for a reason: what is wrong, and what to run. */
export function describeFinding({ message, statements }: Finding): string {
  return statements.length === 0 ? message : `${message} Run: ${statements.join('; ')};`
}
