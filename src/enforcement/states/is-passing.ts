import { sqlstate } from '../../kernel/sqlstate.ts'
import type { Unfinished } from '../unfinished.ts'

const passing: readonly string[] = [
  sqlstate.lockNotAvailable,
  sqlstate.serializationFailure,
  sqlstate.deadlockDetected,
  sqlstate.internalError,
  sqlstate.programLimitExceeded,
]

/** True when it may go away by itself. */
export function isPassing({ sqlstate: code }: Pick<Unfinished, 'sqlstate'>): boolean {
  return passing.includes(code)
}
