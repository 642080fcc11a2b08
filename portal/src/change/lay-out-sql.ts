const longestLine = 100

/** Strings and quoted names are one piece, so that no break falls into them. */
const pieces = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[(),]| (?:AS SELECT|FROM|WHERE) |[^'"(), ]+| +/g

/**
 * A long statement in lines: one for each item of its outermost list. Statements with other kinds of quotes stay as they are,
 * because a break inside one would change what they mean.
 */
export function layOutSql(statement: string): string {
  if (statement.length <= longestLine || /\$|\\|\be'/i.test(statement)) return statement
  let depth = 0
  let laidOut = ''
  for (const [piece] of statement.matchAll(pieces)) {
    if (piece === '(') depth++
    if (piece === ')') depth--
    const isClause = depth === 0 && /^ [A-Z ]+ $/.test(piece) && piece.trim() !== ''
    if (isClause) laidOut += `\n${piece.trim()}${piece === ' AS SELECT ' ? '\n  ' : ' '}`
    else if (piece === ',' && depth === 0) laidOut += ',\n  '
    else if (!(/^ +$/.test(piece) && laidOut.endsWith('\n  '))) laidOut += piece
  }
  return laidOut
}
