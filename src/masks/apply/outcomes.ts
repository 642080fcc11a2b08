import { sqlstateOf } from '../../db/sqlstate.ts'
import { Unfit } from '../explain-failure.ts'
import { NotAsPlanned } from './postcheck.ts'

/**
 * What a failure says, and how often the turn is taken again before relations are changed one by one. The only retry
 * of masking.
 */
const outcomes = {
  /** Another session holds a lock: closings go on without it. */
  locked: { attempts: 1, on: /^(55P03|40P01|57014|55006)$/ },
  /** Names or rows of the catalog changed meanwhile: read and plan again. */
  overtaken: { attempts: 5, on: /^(XX000|40001|23505|42710|42P06|42P07|3F000|42704|42P01)$/ },
  /** The database is not as it was meant to be. */
  different: { attempts: 2, on: /^$/ },
  /** The connection or the database is gone, or another node has its turn: the controller tries again. */
  lost: { attempts: 0, on: /^(08|25(?!P02)|28|3D|53|57P|E)/ },
  /** PostgreSQL refused a statement. */
  refused: { attempts: 1, on: /./ },
} as const

export type Outcome = keyof typeof outcomes

export function judge(error: unknown): Outcome {
  if (error instanceof NotAsPlanned) return 'different'
  const code = sqlstateOf(error)
  if (error instanceof Unfit || code.length !== 5) return 'lost'
  const kinds: readonly Outcome[] = ['locked', 'overtaken', 'lost']
  return kinds.find((kind) => outcomes[kind].on.test(code)) ?? 'refused'
}

/** After a failure the turn is taken again, its groups go one by one, or it ends. */
export function decide(error: unknown, attempt: number): 'again' | 'one by one' | 'give up' {
  const outcome = judge(error)
  if (outcome === 'lost') return 'give up'
  return attempt < outcomes[outcome].attempts ? 'again' : 'one by one'
}
