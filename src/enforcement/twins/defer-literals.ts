import { viewLimits } from '../../sql/limits.ts'
import { parseStatements, type Statement } from '../../sql/parse.ts'
import { refuseSql, SqlRefusal } from '../../sql/refusal.ts'
import { join, orderSplices, type Splice } from '../../sql/splice.ts'

interface TypeCast {
  readonly arg?: { readonly A_Const?: { readonly sval?: unknown } }
  readonly typeName?: { readonly names?: readonly { readonly String?: { readonly sval?: string } }[] }
  readonly location?: number
}

/**
 * PostgreSQL reads a literal of a type while it parses the statement that has it. For an array, a row or a range of a domain
 * that runs the checks of the domain: code of the role that made it, in the session that creates the twin. So literals of
 * types outside pg_catalog become casts of text, which are run when the twin is read. `bytes` is the text, a character for
 * each byte. Throws `SqlRefusal` where a literal is written in another way than PostgreSQL prints it.
 */
export function deferLiterals(statement: Statement, bytes: string): Splice[] {
  const splices: Splice[] = []
  const left: unknown[] = [statement]
  while (left.length > 0) {
    const node = left.pop()
    if (typeof node !== 'object' || node === null) continue
    const cast = (node as { TypeCast?: TypeCast }).TypeCast
    if (cast && cast.arg?.A_Const?.sval !== undefined && !isBuiltIn(cast)) {
      const at = cast.location ?? 0
      if (!bytes.startsWith('::', at)) refuseSql('NotSql')
      splices.push({ from: at, to: at, text: Buffer.from('::text') })
    }
    for (const child of Object.values(node)) left.push(child)
  }
  return splices
}

/** The condition of a row policy, with its literals deferred. One that is not understood lets no row through. */
export function deferInCondition(condition: string): string {
  const prefix = 'SELECT '
  const utf8 = Buffer.from(`${prefix}${condition}`)
  try {
    const splices = parseStatements(utf8.toString(), viewLimits).flatMap((statement) =>
      deferLiterals(statement, utf8.toString('latin1')),
    )
    return join(utf8, orderSplices(splices)).toString().slice(prefix.length)
  } catch (error) {
    if (error instanceof SqlRefusal) return 'false'
    throw error
  }
}

/** Definitions are printed with pg_catalog alone in the search path: every other type has its schema. */
function isBuiltIn({ typeName }: TypeCast): boolean {
  const path = (typeName?.names ?? []).map(({ String: name }) => name?.sval)
  return path.length === 1 || path[0] === 'pg_catalog'
}
