import type { Statement } from '../../sql/parse.ts'
import { checkDepth, type Node, openWith, type RangeVar, walkFields } from '../../sql/syntax-tree.ts'
import type { MaskedRelation } from '../ports.ts'
import { findGrouped } from './group-by-key.ts'
import { type Hiding, readCatalogWithout } from './hide-controller-schemas.ts'
import type { MaskMap } from './mask-map.ts'
import { readColumnsWithMasked } from './show-columns.ts'
import type { NameChanges } from './text-analysis.ts'

/** What of the text is to become something else. */
export type Move =
  | { readonly kind: 'name'; readonly at: number; readonly parts: number; readonly to: Target }
  | { readonly kind: 'catalog'; readonly at: number; readonly parts: number; readonly rows: string }
  | { readonly kind: 'insert'; readonly at: number; readonly text: string }
  | {
      readonly kind: 'copy'
      readonly at: number
      readonly parts: number
      readonly relation: MaskedRelation
      readonly hasList: boolean
      readonly columns: readonly string[]
    }

/** Without a schema: something in the statement itself. */
export type Target = { readonly schema?: string; readonly name: string }

export interface Names {
  readonly masks: MaskMap
  readonly database: string
  readonly path: readonly string[]
  readonly hidden: ReadonlySet<string>
  /** What of the catalogs the session is not shown. */
  readonly hiding?: Hiding | undefined
}

/** One level of a query: what its column references may mean, from the inside out. */
interface Scope {
  readonly outer: Scope | undefined
  readonly ctes: ReadonlySet<string>
  readonly relations: { readonly schema: string; readonly name: string; readonly to: Target | undefined }[]
  /** What is locked by row at this level: by these names, or everything. */
  readonly locked?: ReadonlySet<string> | 'all' | undefined
}

/** PostgreSQL's number of ACCESS SHARE. */
const accessShare = 1
const openTop = (): Scope => ({ outer: undefined, ctes: new Set(), relations: [] })

/** Finds the names in a statement that move: reads go to the twins, targets of writes stay. */
export function findMoves({ stmt }: Statement, names: Names): { moves: Move[]; nameChanges: NameChanges } {
  const finder = new Finder(names)
  finder.walk(stmt, openTop(), 0)
  return { moves: finder.moves, nameChanges: findNameChanges(stmt) }
}

class Finder {
  readonly moves: Move[] = []
  readonly #names: Names

  constructor(names: Names) {
    this.#names = names
  }

  walk(node: Node, scope: Scope, depth: number): void {
    walkFields(node, depth, (key, value, below) => this.#enter(key, value, scope, below))
  }

  #enter(key: string, node: Node, scope: Scope, depth: number): void {
    switch (key) {
      case 'SelectStmt':
        this.#select(node, scope, depth)
        break
      case 'InsertStmt':
      case 'UpdateStmt':
      case 'DeleteStmt':
      case 'MergeStmt':
        this.#write(node, scope, depth)
        break
      case 'LockStmt':
        // Whoever may only read may take this lock alone; for others it takes the right to write, which is one to the table.
        for (const { RangeVar: range } of node.relations ?? [])
          if (node.mode === accessShare) this.#read(range, openTop())
          else this.#target(range, openTop())
        break
      case 'CopyStmt':
        if (node.relation && node.is_from) this.#target(node.relation, openTop())
        else if (node.relation) this.#copy(node)
        this.walk(node.query, scope, depth)
        break
      case 'TableLikeClause':
        this.#read(node.relation, openTop())
        break
      case 'ColumnRef':
        this.#column(node, scope)
        break
      case 'RangeVar':
        break
      default:
        this.walk(node, scope, depth)
    }
  }

  #select(node: Node, outer: Scope, depth: number): void {
    const scope = this.#open(node, outer, depth)
    for (const side of [node.larg, node.rarg]) if (side) this.#select(side, scope, depth + 1)
    const { withClause, larg, rarg, ...rest } = node
    this.#gather(node.fromClause, scope, depth)
    if (this.#names.masks.relations.length > 0 && !isTableCommand(node))
      this.#showColumns(node.fromClause, scope)
    if (node.groupClause)
      for (const { at, columns } of findGrouped(node, (range) => this.#findMoved(range, scope)))
        this.moves.push({ kind: 'insert', at, text: columns })
    this.walk(rest, scope, depth)
  }

  #write(node: Node, outer: Scope, depth: number): void {
    const scope = this.#open(node, outer, depth)
    this.#target(node.relation, scope)
    this.#gather(node.fromClause, scope, depth)
    this.#gather(node.usingClause, scope, depth)
    if (node.sourceRelation) this.#gather([node.sourceRelation], scope, depth)
    const { withClause, relation, ...rest } = node
    this.walk(rest, scope, depth)
  }

  /** A level with the names of its WITH. */
  #open(node: Node, outer: Scope, depth: number): Scope {
    const ctes = openWith(node, outer.ctes, (query, seen) =>
      this.walk(query, { outer, ctes: seen, relations: [] }, depth + 1),
    )
    return { outer, ctes, relations: [], locked: findLocked(node.lockingClause) }
  }

  /** Relations that are read at this level; subqueries among them are levels of their own. */
  #gather(items: readonly Node[] | undefined, scope: Scope, depth: number): void {
    checkDepth(depth)
    for (const item of items ?? []) {
      if (item.RangeVar) this.#read(item.RangeVar, scope)
      else if (item.JoinExpr) this.#gather([item.JoinExpr.larg, item.JoinExpr.rarg], scope, depth + 1)
      else if (item.RangeTableSample)
        this.#gather([item.RangeTableSample.relation], { ...scope, locked: 'all' }, depth + 1)
    }
  }

  #read(range: RangeVar, scope: Scope): void {
    const { hiding } = this.#names
    const rows = hiding && !scope.ctes.has(range.relname) && readCatalogWithout(hiding, range)
    if (rows) this.moves.push({ kind: 'catalog', at: range.location ?? 0, parts: partsOf(range), rows })
    const relation = this.#find(range, scope)
    const moved = this.#findMoved(range, scope)
    if (relation && !range.alias)
      scope.relations.push({ schema: relation.schema, name: relation.name, to: moved?.twin })
    if (moved)
      this.moves.push({ kind: 'name', at: range.location ?? 0, parts: partsOf(range), to: moved.twin })
  }

  #showColumns(items: readonly Node[] | undefined, scope: Scope): void {
    const { relations } = this.#names.masks
    for (const { RangeVar: range, JoinExpr: join } of items ?? []) {
      if (join) this.#showColumns([join.larg, join.rarg], scope)
      if (range?.schemaname !== 'information_schema' || range.relname !== 'columns' || !range.inh) continue
      if (!range.alias)
        scope.relations.push({ schema: 'information_schema', name: 'columns', to: { name: 'columns' } })
      const rows = readColumnsWithMasked(relations) + (range.alias ? '' : ' AS columns')
      this.moves.push({ kind: 'catalog', at: range.location ?? 0, parts: partsOf(range), rows })
    }
  }

  /**
   * Without its children a parent has no twin: the rows would be others. Rows of a view can be neither locked nor sampled:
   * of the table itself they can, as long as no masked column is read.
   */
  #findMoved(range: RangeVar, scope: Scope): MaskedRelation | undefined {
    const relation = this.#find(range, scope)
    if (!relation || (relation.hasChildren && range.inh !== true)) return undefined
    const isLocked = scope.locked === 'all' || scope.locked?.has(range.alias?.aliasname ?? range.relname)
    return isLocked ? undefined : relation
  }

  #find({ catalogname, schemaname, relname }: RangeVar, scope: Scope): MaskedRelation | undefined {
    const { masks, database, path, hidden } = this.#names
    if (catalogname !== undefined && catalogname !== database) return undefined
    if (schemaname !== undefined) return masks.find(schemaname, relname)
    if (scope.ctes.has(relname) || hidden.has(relname)) return undefined
    const schema = masks.resolve(relname, path)
    return schema === undefined ? undefined : masks.find(schema, relname)
  }

  /** A write to a twin means the table: the path leads to the twin first, or a tool took its name from the rows it got. */
  #target(range: RangeVar | undefined, scope: Scope): void {
    if (!range) return
    const found = this.#find(range, openTop())
    if (found && !range.alias) scope.relations.push({ schema: found.schema, name: found.name, to: undefined })
    const base = this.#findBase(range)
    if (!base) return
    if (!range.alias) scope.relations.push({ ...base.twin, to: base })
    this.moves.push({ kind: 'name', at: range.location ?? 0, parts: partsOf(range), to: base })
  }

  #findBase({ catalogname, schemaname, relname }: RangeVar): MaskedRelation | undefined {
    const { masks, database, path, hidden } = this.#names
    if (catalogname !== undefined && catalogname !== database) return undefined
    if (schemaname === undefined && hidden.has(relname)) return undefined
    const schema = schemaname ?? masks.resolve(relname, path)
    return schema === undefined ? undefined : masks.findBase(schema, relname)
  }

  #copy({ relation: range, attlist }: { relation: RangeVar; attlist?: Node[] }): void {
    const relation = this.#find(range, openTop()) ?? this.#findBase(range)
    // COPY of a parent leaves its children's rows out, which its twin cannot.
    if (!relation || relation.hasChildren) return
    this.moves.push({
      kind: 'copy',
      at: range.location ?? 0,
      parts: partsOf(range),
      relation,
      hasList: attlist !== undefined,
      columns: attlist?.map(({ String: { sval } }) => sval) ?? relation.columns,
    })
  }

  /** `schema.table.column` moves with its table, if that moved at the nearest level that has it. */
  #column({ fields, location }: { fields: Node[]; location?: number }, scope: Scope): void {
    const parts = fields.map((field) => field.String?.sval as string | undefined)
    const extra = parts.length === 4 && parts[0] === this.#names.database ? 1 : 0
    const [schema, name] = parts.slice(extra)
    if (parts.length !== 3 + extra || schema === undefined || name === undefined) return
    for (let level: Scope | undefined = scope; level; level = level.outer) {
      const found = level.relations.find((one) => one.schema === schema && one.name === name)
      if (!found) continue
      if (found.to) this.moves.push({ kind: 'name', at: location ?? 0, parts: 2 + extra, to: found.to })
      return
    }
  }
}

/** `TABLE t` has a list of columns that stands nowhere, and takes a name alone. */
function isTableCommand({ targetList }: Node): boolean {
  return targetList?.length === 1 && !(targetList[0].ResTarget?.location >= 0)
}

/** `FOR UPDATE OF a, b`, or of everything that is read. */
function findLocked(clauses: readonly Node[] | undefined): ReadonlySet<string> | 'all' | undefined {
  if (!clauses) return undefined
  const lists = clauses.map(({ LockingClause: { lockedRels } }) => lockedRels as Node[] | undefined)
  if (lists.includes(undefined)) return 'all'
  return new Set(lists.flatMap((list) => list?.map(({ RangeVar: { relname } }) => relname) ?? []))
}

function partsOf({ catalogname, schemaname }: RangeVar): number {
  return 1 + (schemaname === undefined ? 0 : 1) + (catalogname === undefined ? 0 : 1)
}

function findNameChanges(stmt: Node): NameChanges {
  const [[kind, node] = []] = Object.entries(stmt ?? {}) as [string, Node][]
  const isTemporary = (range: Node) =>
    range?.relpersistence === 't' || range?.schemaname === 'pg_temp' ? { hides: range.relname } : {}
  switch (kind) {
    case 'CreateStmt':
      return isTemporary(node.relation)
    case 'ViewStmt':
      return isTemporary(node.view)
    case 'CreateTableAsStmt':
      return isTemporary(node.into?.rel)
    case 'SelectStmt':
      return node.intoClause ? isTemporary(node.intoClause.rel) : {}
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

function findPath({ kind, name, args }: Node): NameChanges {
  if (kind === 'VAR_RESET_ALL') return { path: 'initial' }
  if (name !== 'search_path') return {}
  if (kind !== 'VAR_SET_VALUE') return { path: 'initial' }
  const schemas = (args ?? []).map((item: Node) => item.A_Const?.sval?.sval)
  return schemas.every((schema: unknown) => typeof schema === 'string') ? { path: schemas } : {}
}
