import { quoteIdentifier } from '../../db/quote.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Statement } from '../model.ts'

/** PostgreSQL parses a message as a whole before it runs its first statement. */
const mostBytes = 65_536

/**
 * The only writer. Statements are sent as few messages, because round trips cost more than most of them.
 * `beforeStatement`: for tests that stop the service between two statements.
 */
export async function apply(
  tx: Tx,
  statements: readonly Statement[],
  beforeStatement?: (at: number) => void | Promise<void>,
): Promise<void> {
  let at = 0
  for (const batch of formBatches(statements, beforeStatement ? 0 : mostBytes)) {
    await beforeStatement?.(at++)
    const [first] = batch
    if (first?.otherwise) await tryFirst(tx, first, first.otherwise)
    else await tx.unsafe(writeMessage(batch))
  }
}

async function tryFirst(
  tx: Tx,
  statement: Statement,
  { on, statements }: NonNullable<Statement['otherwise']>,
) {
  try {
    await tx.attempt(writeMessage([statement]))
  } catch (error) {
    if (!on.includes(sqlstateOf(error))) throw error
    await tx.unsafe(writeMessage(statements))
  }
}

function* formBatches(statements: readonly Statement[], limit: number): Generator<Statement[]> {
  let batch: Statement[] = []
  let bytes = 0
  for (const one of statements) {
    const isAlone = one.otherwise !== undefined
    if (batch.length > 0 && (isAlone || bytes + one.sql.length > limit)) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(one)
    bytes += isAlone ? limit : one.sql.length
  }
  if (batch.length > 0) yield batch
}

function writeMessage(statements: readonly Statement[]): string {
  const texts: string[] = []
  let role: string | undefined
  const take = (as: string | undefined) => {
    if (as !== role) texts.push(as === undefined ? 'RESET ROLE' : `SET LOCAL ROLE ${quoteIdentifier(as)}`)
    role = as
  }
  for (const { sql, as } of statements) {
    take(as)
    texts.push(sql)
  }
  take(undefined)
  return texts.join(';\n')
}
