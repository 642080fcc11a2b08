import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Statement } from '../model.ts'

/** PostgreSQL parses a message as a whole before it runs its first statement. */
const mostBytes = 65_536

/**
 * The only writer. Statements are sent as few messages, and all before this returns its promise: what is sent next
 * shares their round trip. `beforeStatement`: for tests that stop the service between two statements.
 */
export async function apply(
  tx: Tx,
  statements: readonly Statement[],
  beforeStatement?: () => void | Promise<void>,
): Promise<void> {
  if (!beforeStatement) {
    const messages = [...formBatches(statements)].map(writeMessage)
    await Promise.all(messages.map((text) => tx.unsafe(text).then(() => {})))
    return
  }
  for (const one of statements) {
    await beforeStatement()
    await tx.unsafe(writeMessage([one]))
  }
}

function* formBatches(statements: readonly Statement[]): Generator<Statement[]> {
  let batch: Statement[] = []
  let bytes = 0
  for (const one of statements) {
    if (batch.length > 0 && bytes + one.sql.length > mostBytes) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(one)
    bytes += one.sql.length
  }
  if (batch.length > 0) yield batch
}

const writeMessage = (statements: readonly Statement[]) => listTexts(statements).join(';\n')

function listTexts(statements: readonly Statement[]): string[] {
  const texts: string[] = []
  let role: string | undefined
  const take = (as: string | undefined) => {
    if (as !== role) texts.push(as === undefined ? 'RESET ROLE' : `SET LOCAL ROLE ${quoteIdentifier(as)}`)
    role = as
  }
  for (const { otherwise, ...one } of statements) {
    take(otherwise ? undefined : one.as)
    texts.push(otherwise ? writeEither([one], otherwise.on, otherwise.statements) : one.sql)
  }
  take(undefined)
  return texts
}

/** In one statement: a savepoint would cost a round trip. */
function writeEither(first: readonly Statement[], sqlstate: string, others: readonly Statement[]): string {
  const write = (some: readonly Statement[]) =>
    listTexts(some)
      .map((text) => `EXECUTE ${quoteLiteral(text)};`)
      .join(' ')
  return `DO ${quoteLiteral(`BEGIN ${write(first)} EXCEPTION WHEN SQLSTATE '${sqlstate}' THEN ${write(others)} END`)}`
}
