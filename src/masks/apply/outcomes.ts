import { sqlstateOf } from '../../db/sqlstate.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import type { Unfinished } from '../plan/model.ts'
import { Unfit } from '../unfit.ts'
import { NotAsPlanned } from './postcheck.ts'

/**
 * What a failure says, and how often all relations together, and relations one by one, are tried in all. The only
 * retry of masking.
 */
const outcomes = {
  /** Another session holds a lock: closings go on without it. */
  locked: { together: 1, alone: 3, on: /^(55P03|40P01|57014|55006)$/ },
  /** Names or rows of the catalog changed meanwhile: read and plan again. */
  overtaken: { together: 5, alone: 5, on: /^(XX000|40001|23505|42710|42P06|42P07|3F000|42704|42P01)$/ },
  /** The database is not as it was meant to be. */
  different: { together: 2, alone: 3, on: /^$/ },
  /** The connection or the database is gone, or another node has its turn: the controller tries again. */
  lost: { together: 1, alone: 1, on: /^(08|25(?!P02)|28|3D|53|57P|E)/ },
  /** PostgreSQL refused a statement. */
  refused: { together: 1, alone: 3, on: /./ },
} as const

export type Outcome = keyof typeof outcomes

export function judge(error: unknown): Outcome {
  if (error instanceof NotAsPlanned) return 'different'
  const code = sqlstateOf(error)
  if (error instanceof Unfit || code.length !== 5) return 'lost'
  const kinds: readonly Outcome[] = ['locked', 'overtaken', 'lost']
  return kinds.find((kind) => outcomes[kind].on.test(code)) ?? 'refused'
}

const passing: readonly string[] = [
  sqlstate.lockNotAvailable,
  sqlstate.serializationFailure,
  sqlstate.deadlockDetected,
  sqlstate.internalError,
  sqlstate.programLimitExceeded,
]

/** It may go away by itself. */
export const mayPass = ({ sqlstate: code }: Pick<Unfinished, 'sqlstate'>) => passing.includes(code)

export async function retry<Result>(
  how: 'together' | 'alone',
  take: (failure?: unknown) => Promise<Result>,
): Promise<Result> {
  let failure: unknown
  for (let attempt = 1; ; attempt++)
    try {
      return await take(failure)
    } catch (error) {
      if (attempt >= outcomes[judge(error)][how]) throw error
      failure = error
    }
}
