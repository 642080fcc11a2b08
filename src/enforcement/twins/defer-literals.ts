import { viewLimits } from '../../sql/limits.ts'
import { parseStatements, type Statement } from '../../sql/parse.ts'
import { refuseSql, SqlRefusal } from '../../sql/refusal.ts'
import { join, orderSplices, type Splice } from '../../sql/splice.ts'

type Name = readonly { readonly String?: { readonly sval?: string } }[]

interface TypeCast {
  readonly arg?: { readonly A_Const?: { readonly sval?: unknown } }
  readonly typeName?: { readonly names?: Name }
  readonly location?: number
}

interface Left {
  readonly node: unknown
  /** A literal without a type stands for an argument of a built-in function that takes every type. */
  readonly isBareHarmless: boolean
}

/**
 * PostgreSQL reads a literal of a type while it parses the statement that has it. For an array, a row or a range of a domain
 * that runs the checks of the domain: code of the role that made it, in the session that creates the twin. So literals of
 * types outside pg_catalog become casts of text, which are run when the twin is read. `bytes` is the text, a character for
 * each byte. Throws `SqlRefusal` where a literal is written in another way than PostgreSQL prints it, and where it has no type
 * and a function or operator outside pg_catalog gives it one: a role may have added another of that name since.
 */
export function deferLiterals(statement: Statement, bytes: string): Splice[] {
  const splices: Splice[] = []
  const left: Left[] = [{ node: statement, isBareHarmless: false }]
  for (let next = left.pop(); next; next = left.pop()) {
    const { node, isBareHarmless } = next
    if (typeof node !== 'object' || node === null) continue
    for (const [kind, child] of Object.entries(node)) {
      if (kind === 'A_Const' && child.sval !== undefined && !isBareHarmless) refuseSql('NotSql')
      if (kind === 'TypeCast' && child.arg?.A_Const?.sval !== undefined) {
        const cast: TypeCast = child
        if (isBuiltInType(cast)) continue
        const at = cast.location ?? 0
        if (!bytes.startsWith('::', at)) refuseSql('NotSql')
        splices.push({ from: at, to: at, text: Buffer.from('::text') })
        continue
      }
      left.push({ node: child, isBareHarmless: takesEveryType(kind, child) ?? isBareHarmless })
    }
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

/** Parts of a call that pass on what it takes. */
const passedOn = new Set([
  ...['A_ArrayExpr', 'A_Const', 'List', 'NamedArgExpr', 'ResTarget', 'RowExpr'],
  ...['JsonKeyValue', 'JsonValueExpr', 'JsonAggConstructor'],
])
const harmless = new Set([
  ...['pathspec', 'NullTest', 'XmlExpr'],
  ...['JsonObjectConstructor', 'JsonArrayConstructor', 'JsonObjectAgg', 'JsonArrayAgg'],
])

/** Undefined: what holds around the node holds for it. */
function takesEveryType(kind: string, child: unknown): boolean | undefined {
  if (kind === 'FuncCall') return isBuiltIn((child as { funcname?: Name }).funcname)
  if (kind === 'TypeCast') return isBuiltInType(child as TypeCast)
  if (harmless.has(kind)) return true
  return /^[A-Z]/.test(kind) && !passedOn.has(kind) ? false : undefined
}

/** A cast to a type that takes every other leaves the literal as it is. */
function isBuiltInType({ typeName }: TypeCast): boolean {
  const name = typeName?.names?.at(-1)?.String?.sval ?? ''
  return isBuiltIn(typeName?.names) && !/^(any|unknown$|_?record$)/.test(name)
}

/** Definitions are printed with pg_catalog alone in the search path: every other name has its schema. */
function isBuiltIn(name: Name | undefined): boolean {
  return name?.length === 1 || name?.[0]?.String?.sval === 'pg_catalog'
}
