import { Effort } from '../../sql/effort.ts'
import { viewLimits } from '../../sql/limits.ts'
import { findNameEnd } from '../../sql/name-end.ts'
import { parseStatements, type Statement } from '../../sql/parse.ts'
import { refuseSql } from '../../sql/refusal.ts'
import { resolveReferences } from '../../sql/resolve.ts'
import { join, orderSplices, type Splice } from '../../sql/splice.ts'

/** The definition names every relation with its schema, and no column of it is looked at here. */
const noCatalog = { locate: () => ({}) }

/**
 * Moves the relations that a query reads to other names, by splicing the text where PostgreSQL's own parser says that
 * they stand. Everything else stays to the letter, but for literals that would run code. `choose` gets the name as
 * written and returns the new one, quoted. Throws `SqlRefusal` for a definition that is over the limits.
 */
export function moveRelations(
  text: string,
  choose: (schema: string | undefined, name: string, isOnly: boolean) => string | undefined,
  statements = parseStatements(text, viewLimits),
): string {
  const utf8 = Buffer.from(text)
  const bytes = utf8.toString('latin1')
  const splices: Splice[] = []
  const move = (at: number, parts: number, to: string | undefined) => {
    if (to !== undefined) splices.push({ from: at, to: findNameEnd(bytes, at, parts), text: Buffer.from(to) })
  }
  const effort = new Effort(viewLimits)
  for (const statement of statements) {
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

interface TypeName {
  readonly names?: readonly { readonly String?: { readonly sval?: string } }[]
}

/** Parts of a tree that name functions, operators and types, but for casts of literals and columns. */
const naming: readonly string[] = ['funcname', 'name', 'names']

/**
 * PostgreSQL reads a literal of a type while it parses the statement that has it. For a type that a role made, this
 * runs code of that role in the session that creates the twin. So literals of types outside pg_catalog become casts
 * of text, which are run when the twin is read. `bytes` is the text, a character for each byte. Throws `SqlRefusal`
 * where a literal has no type, and a function, operator or type outside pg_catalog may give it one: a role may have
 * added another of that name since.
 */
function deferLiterals(statement: Statement, bytes: string): Splice[] {
  const splices: Splice[] = []
  const found = { bare: false, foreign: false }
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const [kind, child] of Object.entries(node)) {
      if (kind === 'A_Const' && child.sval !== undefined) found.bare = true
      if (kind === 'TypeCast' && child.arg?.A_Const?.sval !== undefined) {
        if (takesAny(child.typeName)) refuseSql('NotSql')
        if (isBuiltIn(child.typeName?.names)) continue
        const at = child.location ?? 0
        if (!bytes.startsWith('::', at)) refuseSql('NotSql')
        splices.push({ from: at, to: at, text: Buffer.from('::text') })
        continue
      }
      if (kind === 'pathspec' || (kind === 'TypeCast' && child.arg?.ColumnRef)) continue
      if (naming.includes(kind) && Array.isArray(child) && !isBuiltIn(child)) found.foreign = true
      walk(child)
    }
  }
  walk(statement)
  if (found.bare && found.foreign) refuseSql('NotSql')
  return splices
}

/** A cast to a type that takes every other leaves the literal as it is. */
const takesAny = ({ names }: TypeName = {}): boolean =>
  /^(any|unknown$|_?record$)/.test(names?.at(-1)?.String?.sval ?? '')

/** Definitions are printed with pg_catalog alone in the search path: every other name has its schema. */
const isBuiltIn = (names: TypeName['names']): boolean =>
  names?.length === 1 || names?.[0]?.String?.sval === 'pg_catalog'
