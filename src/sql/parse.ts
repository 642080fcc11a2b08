import { SteadyParser } from './parser-instance.ts'

/** Beyond this a text passes as it is. Flat lists of literals have been cut out of it before. */
const maxBytes = 65_536

/**
 * Words and operators a text may have: chains of them (`1+1+1…`, joins, unions) become deep trees, and a parser that runs
 * out of stack has to be replaced. Numbers and parameters are not counted.
 */
const maxPieces = 3_000
const piece = /[a-z_"\u0080-\uffff]+|[-+*/<>=~!@#%^&|`?:[]/gi

const parser = new SteadyParser()

export function loadParser(): Promise<void> {
  return parser.load()
}

export interface Statement {
  readonly stmt?: object
}

/** Undefined: this is for PostgreSQL itself to make sense of. */
export function parseStatements(text: string): readonly Statement[] | undefined {
  if (text === '' || text.length > maxBytes || hasTooManyPieces(text)) return undefined
  const json = parser.parse(text)
  return json === undefined ? undefined : JSON.parse(json).stmts
}

function hasTooManyPieces(text: string): boolean {
  let count = 0
  for (const _found of text.matchAll(piece)) if (++count > maxPieces) return true
  return false
}
