// biome-ignore lint/suspicious/noExplicitAny: a syntax tree has hundreds of shapes, and few matter here
export type Node = any

/** A relation by its name, as statements have it. */
export interface RangeVar {
  readonly catalogname?: string
  readonly schemaname?: string
  readonly relname: string
  /** Not with ONLY. */
  readonly inh?: boolean
  readonly alias?: { readonly aliasname: string; readonly colnames?: readonly Node[] }
  readonly location?: number
  /** `t` where the statement says that it is temporary. */
  readonly relpersistence?: string
}

/** The one field of a node, which says its kind. */
export function unwrap(node: Node): readonly [kind: string | undefined, fields: Node] {
  const [[kind, fields] = []] = Object.entries(node ?? {})
  return [kind, fields]
}

/** The parts of a name, or of a list of names. */
export function readStrings(list: readonly Node[] | undefined): string[] {
  return (list ?? []).flatMap((item) => (item.String ? [item.String.sval ?? ''] : []))
}
