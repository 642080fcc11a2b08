import { joinFrame, type Splice } from '../../sql/splice.ts'
import { findText, message } from '../../wire/messages.ts'
import type { PreparedStatement } from './ledger/prepared-statement.ts'
import type { StatementLedger } from './ledger/statement-ledger.ts'
import type { StatementTexts } from './statement-texts.ts'

/**
 * Messages that prepare a statement again as the masks are now, to be sent before the client's message that uses it. So a
 * client that prepares once and runs for days, as pools do, does not notice that a table got its first rule or lost its last
 * one. Undefined: the server has the statement in the right form, or the gateway cannot prepare it again.
 */
export function renewStatement(
  statement: PreparedStatement,
  ledger: StatementLedger,
  texts: StatementTexts,
): Buffer | undefined {
  const { text } = statement
  if (!text) return undefined
  // By the settings of now it would be another statement.
  if (text.reading !== undefined && text.reading !== texts.reading) {
    ledger.dropText(statement)
    return undefined
  }
  // The whole name: cut to the bytes that tell names apart, it may end in the middle of a letter.
  const { name, from, to } = findText(text.parse)
  const moved = texts.rewrite(text.parse, from, to, ledger.areSettingsKnown)
  const splices = moved?.splices ?? []
  ledger.readAgain(statement, texts.effects, texts.stateOf(ledger.areSettingsKnown))
  if (!ledger.mayBeMissing(statement) && isSame(splices, text.splices)) return undefined
  ledger.sendRenewal(statement, { ...text, splices }, moved)
  const parse = joinFrame(text.parse, 0, from, text.parse.length, splices)
  parse.writeUInt32BE(parse.length - 1, 1)
  return Buffer.concat([message('C', 'S', Buffer.from(`${name}\0`, 'latin1')), parse])
}

function isSame(some: readonly Splice[], others: readonly Splice[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ from, to, text }, at) => {
      const other = others[at]
      return other !== undefined && from === other.from && to === other.to && text.equals(other.text)
    })
  )
}
