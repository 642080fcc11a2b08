// biome-ignore lint/suspicious/noExplicitAny: a syntax tree has hundreds of shapes, and few matter here
export type Node = any

/** A relation by its name, as statements have it. */
export interface RangeVar {
  readonly catalogname?: string
  readonly schemaname?: string
  readonly relname: string
  readonly inh?: boolean
  readonly alias?: { readonly aliasname: string; readonly colnames?: readonly Node[] }
  readonly location?: number
}

const maxDepth = 3_000

export function checkDepth(depth: number): void {
  if (depth > maxDepth) throw new RangeError('a statement is nested too deeply')
}

/** The fields of a node, or of all that are in a list: whoever visits them decides which to walk into. */
export function walkFields(
  node: Node,
  depth: number,
  visit: (key: string, value: Node, depth: number) => void,
  enter?: (node: Node) => void,
): void {
  if (node === null || typeof node !== 'object') return
  checkDepth(depth)
  if (Array.isArray(node)) {
    for (const item of node) walkFields(item, depth + 1, visit, enter)
    return
  }
  enter?.(node)
  for (const [key, value] of Object.entries(node)) visit(key, value, depth + 1)
}

/** The names of a WITH and those around it; each of its queries sees the ones before it, all of them when it is recursive. */
export function openWith(
  { withClause }: Node,
  outer: ReadonlySet<string>,
  visit: (query: Node, ctes: ReadonlySet<string>) => void,
): ReadonlySet<string> {
  const ctes = new Set(outer)
  const list: Node[] = (withClause?.ctes ?? []).map((item: Node) => item.CommonTableExpr)
  if (withClause?.recursive) for (const { ctename } of list) ctes.add(ctename)
  for (const cte of list) {
    visit(cte.ctequery, new Set(ctes))
    ctes.add(cte.ctename)
  }
  return ctes
}
