import { Effort } from '../../sql/effort.ts'
import { viewLimits } from '../../sql/limits.ts'
import { findNameEnd } from '../../sql/name-end.ts'
import { parseStatements } from '../../sql/parse.ts'
import { resolveReferences } from '../../sql/resolve.ts'
import { join, orderSplices, type Splice } from '../../sql/splice.ts'
import { deferLiterals } from './defer-literals.ts'

/** The definition names every relation with its schema, and no column of it is looked at here. */
const noCatalog = { locate: () => ({}) }

/**
 * Moves the relations that a query reads to other names, by splicing the text where PostgreSQL's own parser says that
 * they stand. Everything else stays to the letter, but for literals that would run code. `choose` gets the name as written and returns the new one, quoted.
 * Throws `SqlRefusal` for a definition that is over the limits.
 */
export function moveRelations(
  text: string,
  choose: (schema: string | undefined, name: string, isOnly: boolean) => string | undefined,
): string {
  const utf8 = Buffer.from(text)
  const bytes = utf8.toString('latin1')
  const splices: Splice[] = []
  const move = (at: number, parts: number, to: string | undefined) => {
    if (to !== undefined) splices.push({ from: at, to: findNameEnd(bytes, at, parts), text: Buffer.from(to) })
  }
  const effort = new Effort(viewLimits)
  for (const statement of parseStatements(text, viewLimits)) {
    const { relations, types } = resolveReferences(statement, noCatalog, effort)
    for (const { range, at, parts } of relations)
      move(at, parts, choose(range.schemaname, range.relname, range.inh !== true))
    // Rows of a relation are of a type of its name, which has to move along.
    for (const { path, at } of types)
      if (path.length === 2) move(at, 2, choose(path[0], path[1] ?? '', false))
    splices.push(...deferLiterals(statement, bytes))
  }
  return join(utf8, orderSplices(splices)).toString()
}
