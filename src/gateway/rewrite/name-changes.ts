import type { Statement } from '../../sql/parse.ts'
import { pathOf } from '../../sql/search-path.ts'
import { type Node, unwrap } from '../../sql/syntax-tree.ts'
import { hideName, type Names } from './names.ts'
import type { NameChanges } from './text-analysis.ts'

/** How a statement changes the meaning of names for later statements. */
export function findNameChanges({ stmt }: Statement): NameChanges {
  const [kind, node] = unwrap(stmt)
  switch (kind) {
    case 'CreateStmt':
      return hideOthers(node.relation)
    case 'ViewStmt':
      return hideOthers(node.view)
    case 'CreateTableAsStmt':
      return hideOthers(node.into?.rel)
    case 'SelectStmt':
      return node.intoClause ? hideOthers(node.intoClause.rel) : {}
    case 'DropStmt': {
      const last = node.objects?.[0]?.List?.items?.at(-1)?.String?.sval
      return last === undefined ? {} : { uncovers: last }
    }
    case 'DiscardStmt':
      if (node.target === 'DISCARD_ALL') return { uncovers: 'all', path: 'initial' }
      return node.target === 'DISCARD_TEMP' ? { uncovers: 'all' } : {}
    case 'VariableSetStmt':
      return findPath(node)
    default:
      return {}
  }
}

function hideOthers(range: Node): NameChanges {
  const isTemporary = range?.relpersistence === 't' || range?.schemaname === 'pg_temp'
  return isTemporary ? { hides: range.relname } : {}
}

function findPath({ kind, name, args }: Node): NameChanges {
  if (kind === 'VAR_RESET_ALL') return { path: 'initial' }
  if (name !== 'search_path') return {}
  if (kind !== 'VAR_SET_VALUE') return { path: 'initial' }
  const schemas = (args ?? []).map((item: Node) => item.A_Const?.sval?.sval)
  return schemas.every((schema: unknown) => typeof schema === 'string') ? { path: schemas } : {}
}

/** The meaning of names from statement to statement of one text. */
export class ChangingNames {
  /** At the next statement. What it holds changes with the next change. */
  current: Names
  /** Copied once for the text: the names that it begins with are the session's. */
  #hidden: Set<string> | undefined

  constructor(names: Names) {
    this.current = names
  }

  /** The session's initial path is not known here: nothing is assumed of it. */
  change({ path, hides, uncovers }: NameChanges): void {
    if (hides !== undefined || uncovers !== undefined) {
      this.#hidden ??= new Set(this.current.hidden)
      if (uncovers === 'all') this.#hidden.clear()
      else if (uncovers !== undefined) this.#hidden.delete(uncovers)
      if (hides !== undefined) hideName(this.#hidden, hides)
    }
    if (!this.#hidden && !Array.isArray(path)) return
    const { hidden: before, path: known } = this.current
    this.current = {
      ...this.current,
      hidden: this.#hidden ?? before,
      path: Array.isArray(path) ? pathOf(path).schemas : known,
    }
  }
}

/** The path is the one that the statement sets, for certain. */
export function setsPath({ path }: NameChanges): boolean {
  return Array.isArray(path) && pathOf(path).isExact
}

export function changesNames({ path, hides, uncovers }: NameChanges): boolean {
  return path !== undefined || hides !== undefined || uncovers !== undefined
}
