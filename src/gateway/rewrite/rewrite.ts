import type { MaskedRelation } from '../../contracts/role-masks.ts'
import { Effort } from '../../sql/effort.ts'
import { statementLimits } from '../../sql/limits.ts'
import { parseStatements, type Statement } from '../../sql/parse.ts'
import { SqlRefusal } from '../../sql/refusal.ts'
import { resolveReferences } from '../../sql/resolve.ts'
import { orderSplices, type Splice } from '../../sql/splice.ts'
import { findTouches } from '../audit/find-touches.ts'
import { type StatementEffect, unparsed } from '../audit/touch.ts'
import { findMoves } from './find-moves.ts'
import { ChangingNames, changesNames, findNameChanges, setsPath } from './name-changes.ts'
import { catalogOf, type Names } from './names.ts'
import { refuseMaskWrite } from './refuse-mask-write.ts'
import type { NameChanges, StatementRefusal, TextAnalysis } from './text-analysis.ts'

const none: TextAnalysis = {
  splices: [],
  nameChanges: [],
  isParsed: false,
  readsTwin: false,
  masked: [],
  effects: unparsed,
}

/** No statement begins so: PostgreSQL parses a text as a whole, and refuses it before any of its statements runs. */
const unparsable: readonly Splice[] = [{ from: 0, to: 0, text: Buffer.from('! ') }]

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
  const effort = new Effort(statementLimits)
  const changing = new ChangingNames(names)
  let readsTwin = false
  const masked = new Set<MaskedRelation>()
  let isPathKnown = true
  let refusal: StatementRefusal | undefined
  for (const [at, statement] of statements.entries()) {
    const { current } = changing
    const references = resolveReferences(statement, catalogOf(current), effort)
    const moves = findMoves(references, current, bytes)
    refusal ??= refuseMaskWrite(references, current)
    splices.push(...moves.splices)
    readsTwin ||= moves.readsTwin
    for (const relation of moves.masked) masked.add(relation)
    const effect = {
      ...findTouches(statement, references, current),
      at,
      isPathUnknown: statements.length > 1,
    }
    const { touch, onError, prepares, executes, dependsOnPath } = effect
    if (touch || onError || prepares !== undefined || executes.length > 0 || dependsOnPath)
      effects.push(effect)
    if (effect.dependsOnPath && !isPathKnown) effects.push(...unparsed)
    const changes = findNameChanges(statement)
    isPathKnown = setsPath(changes) || (isPathKnown && keepsPath(statement))
    nameChanges.push(changes)
    changing.change(changes)
  }
  return {
    splices: refusal ? unparsable : orderSplices(splices),
    nameChanges: refusal ? [] : nameChanges.filter(changesNames),
    isParsed: true,
    readsTwin,
    masked: refusal ? [] : [...masked],
    effects,
    refusal,
  }
}

/** Any other statement may call a function that sets the path, or end the transaction that did. */
function keepsPath({ stmt }: Statement): boolean {
  const kind = stmt?.TransactionStmt?.kind
  return kind === 'TRANS_STMT_BEGIN' || kind === 'TRANS_STMT_START'
}
