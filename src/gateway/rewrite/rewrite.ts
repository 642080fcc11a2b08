import { quoteIdentifier } from '../../db/quote.ts'
import { statementLimits } from '../../sql/limits.ts'
import { findListEnd, findNameEnd } from '../../sql/name-end.ts'
import { parseStatements, type Statement } from '../../sql/parse.ts'
import { SqlRefusal } from '../../sql/refusal.ts'
import type { Splice } from '../../sql/splice.ts'
import { findTouches } from '../audit/find-touches.ts'
import { type StatementEffect, unparsed } from '../audit/touch.ts'
import { findMoves, type Move, type Names, type Target } from './find-moves.ts'
import type { NameChanges, TextAnalysis } from './text-analysis.ts'

const none: TextAnalysis = {
  splices: [],
  nameChanges: [],
  isParsed: false,
  readsTwin: false,
  effects: unparsed,
}

/**
 * Moves the reads of a text to the twins by splicing names where PostgreSQL's own parser says that they stand; everything
 * else stays to the byte. `utf8` is what the parser gets. What cannot be parsed stays as it is.
 */
export function rewriteText(utf8: Buffer, names: Names): TextAnalysis {
  try {
    return rewriteStatements(
      parseStatements(utf8.toString(), statementLimits),
      utf8.toString('latin1'),
      names,
    )
  } catch (error) {
    if (error instanceof SqlRefusal) return none
    throw error
  }
}

/** `bytes` has one character for each byte: positions of the parser count bytes. */
function rewriteStatements(statements: readonly Statement[], bytes: string, names: Names): TextAnalysis {
  const splices: Splice[] = []
  const nameChanges: NameChanges[] = []
  const effects: StatementEffect[] = []
  let current = names
  let readsTwin = false
  let isPathKnown = true
  for (const statement of statements) {
    const found = findMoves(statement, current)
    splices.push(...found.moves.map((move) => spliceOf(bytes, move)))
    readsTwin ||= found.moves.some(({ kind }) => kind !== 'catalog')
    const effect = { ...findTouches(statement, current), isPathUnknown: statements.length > 1 }
    if (effect.touch || effect.prepares !== undefined || effect.executes.length > 0 || effect.dependsOnPath)
      effects.push(effect)
    if (effect.dependsOnPath && !isPathKnown) effects.push(...unparsed)
    isPathKnown = Array.isArray(found.nameChanges.path) || (isPathKnown && keepsPath(statement))
    nameChanges.push(found.nameChanges)
    current = changeNames(current, found.nameChanges)
  }
  splices.sort((a, b) => a.from - b.from || a.to - b.to)
  return {
    splices: withoutTwice(splices),
    nameChanges: nameChanges.filter(hasEffect),
    isParsed: true,
    readsTwin,
    effects,
  }
}

/** Whatever else runs may call a function that sets the path, or end the transaction that did. */
function keepsPath({ stmt }: Statement): boolean {
  const { TransactionStmt: transaction } = (stmt ?? {}) as { TransactionStmt?: { kind?: string } }
  return transaction?.kind === 'TRANS_STMT_BEGIN' || transaction?.kind === 'TRANS_STMT_START'
}

/** The parser shows a subquery that several columns are set from once for each of them. */
function withoutTwice(sorted: readonly Splice[]): readonly Splice[] {
  return sorted.filter(({ from, to }, at) => from !== sorted[at - 1]?.from || to !== sorted[at - 1]?.to)
}

/** What names mean after a statement. The path that a session began with is not known here: nothing is assumed of it. */
function changeNames(names: Names, { path, hides, uncovers }: NameChanges): Names {
  if (path === undefined && hides === undefined && uncovers === undefined) return names
  const hidden = new Set(uncovers === 'all' ? [] : names.hidden)
  if (uncovers !== undefined) hidden.delete(uncovers)
  if (hides !== undefined) hidden.add(hides)
  return { ...names, hidden, path: Array.isArray(path) ? path : names.path }
}

function hasEffect({ path, hides, uncovers }: NameChanges): boolean {
  return path !== undefined || hides !== undefined || uncovers !== undefined
}

function spliceOf(bytes: string, move: Move): Splice {
  if (move.kind === 'insert') return { from: move.at, to: move.at, text: Buffer.from(move.text) }
  const end = findNameEnd(bytes, move.at, move.parts)
  if (move.kind === 'name') return { from: move.at, to: end, text: Buffer.from(render(move.to)) }
  if (move.kind === 'catalog') return { from: move.at, to: end, text: Buffer.from(move.rows) }
  const columns = move.columns.map(quoteIdentifier).join(', ')
  return {
    from: move.at,
    to: move.hasList ? (findListEnd(bytes, end) ?? end) : end,
    text: Buffer.from(`(SELECT ${columns} FROM ${render(move.relation.twin)})`),
  }
}

function render({ schema, name }: Target): string {
  return (schema === undefined ? '' : `${quoteIdentifier(schema)}.`) + quoteIdentifier(name)
}
