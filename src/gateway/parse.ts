import { loadModule, parseSync } from 'libpg-query'

/** Beyond this a text passes as it is. */
const maxBytes = 65_536

/**
 * Words and operators a text may have: chains of them (`1+1+1…`, joins, unions) become deep trees, and a parser that runs
 * out of stack does not recover. Lists of numbers and parameters are flat and not counted.
 */
const maxPieces = 3_000
const piece = /[a-z_"\u0080-\uffff]+|[-+*/<>=~!@#%^&|`?:[]/gi

let isLoaded = false
let isBroken = false

export async function loadParser(): Promise<void> {
  await loadModule()
  isLoaded = true
}

export interface Statement {
  readonly stmt?: object
}

/** Undefined: this is for PostgreSQL itself to make sense of. */
export function parseStatements(text: string): readonly Statement[] | undefined {
  if (!isLoaded) throw new Error('the parser is not loaded')
  if (isBroken || text.length > maxBytes || hasTooManyPieces(text)) return undefined
  try {
    return parseSync(text).stmts as readonly Statement[]
  } catch (error) {
    if (!(error instanceof Error) || !/^(RangeError|RuntimeError)$/.test(error.name)) return undefined
    // Its memory is in no known state: from now on nothing moves, and PostgreSQL denies what it must.
    isBroken = true
    throw error
  }
}

function hasTooManyPieces(text: string): boolean {
  let count = 0
  for (const _found of text.matchAll(piece)) if (++count > maxPieces) return true
  return false
}
