import type { Statement } from './parse.ts'
import { type Collector, findOptions, readFrom } from './read-from.ts'
import type {
  Catalog,
  ColumnOrigin,
  ColumnReference,
  Grouping,
  References,
  RelationReference,
  RelationUse,
  TypeReference,
  Write,
} from './references.ts'
import {
  findNamed,
  findOrigins,
  relationSource,
  type Scope,
  type Source,
  topScope,
  upwards,
} from './scope.ts'
import { type Node, type RangeVar, readStrings } from './syntax-tree.ts'

/** What these say about a relation is nothing that is in it. */
const looksAtNoRow = new Set([
  'VacuumStmt',
  'GrantStmt',
  'CreateForeignTableStmt',
  'intoClause',
  'into',
  'view',
  'lockingClause',
  'CreateSeqStmt',
  'AlterSeqStmt',
  'RenameStmt',
  'AlterObjectSchemaStmt',
  'AlterOwnerStmt',
])
/** PostgreSQL's number of ACCESS SHARE. */
const accessShare = 1

/**
 * Finds everything that a statement refers to, by the meaning that names have in it. Where that is uncertain it is every
 * column that may be meant.
 */
export function resolveReferences({ stmt }: Statement, catalog: Catalog): References {
  const resolver = new Resolver(catalog)
  resolver.walk(stmt)
  return resolver
}

/** A part of the tree that is still to be looked at. Deep trees then take no stack. */
interface Work {
  readonly node: Node
  readonly scope: Scope
}

class Resolver implements References, Collector {
  readonly relations: RelationReference[] = []
  readonly columns: ColumnReference[] = []
  readonly reads: ColumnOrigin[] = []
  readonly writes: Write[] = []
  readonly groupings: Grouping[] = []
  readonly types: TypeReference[] = []
  readonly calls: string[][] = []
  readonly executes: string[] = []
  hasHiddenCode = false
  readonly #catalog: Catalog
  readonly #work: Work[] = []

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  walk(stmt: Node): void {
    this.later(stmt, topScope)
    for (let work = this.#work.pop(); work; work = this.#work.pop()) {
      const { node, scope } = work
      if (Array.isArray(node)) for (const item of node.toReversed()) this.later(item, scope)
      else {
        if (typeof node.relname === 'string') this.refer(node, 'other')
        for (const [key, value] of Object.entries(node)) this.#enter(key, value, scope)
      }
    }
  }

  later(node: Node, scope: Scope): void {
    if (node !== null && typeof node === 'object') this.#work.push({ node, scope })
  }

  #enter(key: string, node: Node, scope: Scope): void {
    switch (key) {
      case 'SelectStmt':
        this.#select(node, scope)
        break
      case 'InsertStmt':
        this.#insert(node, scope)
        break
      case 'UpdateStmt':
      case 'DeleteStmt':
        this.#change(node, scope, key === 'DeleteStmt')
        break
      case 'MergeStmt':
        this.#merge(node, scope)
        break
      case 'CopyStmt':
        this.#copy(node, scope)
        break
      case 'TruncateStmt':
        for (const { RangeVar: range } of node.relations ?? []) this.#write(this.refer(range, 'truncate'))
        break
      case 'LockStmt':
        for (const { RangeVar: range } of node.relations ?? [])
          this.refer(range, node.mode === accessShare ? 'lockToRead' : 'lock')
        break
      case 'CreateStmt':
        for (const { TableLikeClause: like } of node.tableElts ?? [])
          if (like) this.refer(like.relation, 'like')
        break
      case 'TableLikeClause':
        this.refer(node.relation, 'like')
        break
      case 'ColumnRef':
        this.#column(node, scope)
        break
      case 'ExecuteStmt':
        this.executes.push(node.name)
        this.later(node.params, scope)
        break
      case 'DoStmt':
        this.hasHiddenCode = true
        break
      case 'CreateFunctionStmt':
        this.hasHiddenCode = true
        this.later(node.sql_body, scope)
        break
      default:
        if (key === 'FuncCall' || key === 'funccall') this.calls.push(readStrings(node.funcname))
        if (key === 'TypeName' || key === 'typeName')
          this.types.push({ path: readStrings(node.names), at: node.location ?? 0 })
        if (!looksAtNoRow.has(key)) this.later(node, scope)
    }
  }

  #select(node: Node, outer: Scope): void {
    const scope = this.#open(node, outer)
    const { withClause, larg, rarg, fromClause, whereClause, groupClause, ...rest } = node
    for (const side of [rarg, larg]) if (side) this.later({ SelectStmt: side }, scope)
    readFrom(fromClause, scope, this, findOptions(node))
    this.later(whereClause, scope)
    const isPlain = groupClause?.every((item: Node) => item.ColumnRef)
    if (!isPlain) this.later(groupClause, scope)
    const uses: ColumnReference[] = []
    if (isPlain)
      this.groupings.push({
        keys: groupClause.map((item: Node) => this.#column(item.ColumnRef, scope)),
        relations: scope.sources.flatMap((source) =>
          source.relation && !source.isHidden ? [source.relation] : [],
        ),
        uses,
      })
    this.later(rest, isPlain ? { ...scope, uses } : scope)
  }

  #insert(node: Node, outer: Scope): void {
    const scope = this.#open(node, outer)
    this.later(node.selectStmt, scope)
    const relation = this.refer(node.relation, 'insert')
    this.#write(relation, node.cols)
    const target = this.sourceOf(relation)
    const { onConflictClause: conflict } = node
    if (conflict) {
      for (const { IndexElem: element } of conflict.infer?.indexElems ?? [])
        if (element.name !== undefined) this.reads.push(...(target.find(element.name) ?? []))
      // A constraint has a name, and the columns of that are not known.
      if (conflict.infer?.conname !== undefined) this.reads.push(...target.all)
      this.#write(relation, conflict.targetList ?? [])
      // PostgreSQL asks for the right to read of `excluded` what it asks for of the row itself.
      this.later(conflict, { ...scope, sources: [target, rename(target, 'excluded')] })
    }
    this.#returning(node, target, scope)
  }

  #change(node: Node, outer: Scope, isDelete: boolean): void {
    const scope = this.#open(node, outer)
    const relation = this.refer(node.relation, 'target')
    const target = this.sourceOf(relation)
    scope.sources.push(target)
    this.#write(relation, isDelete ? undefined : (node.targetList ?? []))
    readFrom(node.fromClause ?? node.usingClause, scope, this)
    this.later([node.targetList, node.whereClause], scope)
    this.#returning(node, target, scope)
  }

  #merge(node: Node, outer: Scope): void {
    const scope = this.#open(node, outer)
    const relation = this.refer(node.relation, 'target')
    const target = this.sourceOf(relation)
    readFrom([node.sourceRelation], scope, this)
    scope.sources.push(target)
    this.later(node.joinCondition, scope)
    for (const { MergeWhenClause: when } of node.mergeWhenClauses ?? []) {
      if (when.commandType === 'CMD_UPDATE') this.#write(relation, when.targetList ?? [])
      else if (when.commandType === 'CMD_INSERT') this.#write(relation, when.targetList)
      else if (when.commandType === 'CMD_DELETE') this.#write(relation)
      this.later(when, scope)
    }
    this.#returning(node, target, scope)
  }

  /** Behind RETURNING the row is there before and after, under names of their own. */
  #returning({ returningClause: clause }: Node, target: Source, scope: Scope): void {
    if (!clause) return
    const given = (clause.options ?? []).map((option: Node) => option.ReturningOption?.value)
    const rows = ['old', 'new', ...given].map((name) => rename(target, name))
    this.later(clause.exprs, { ...scope, sources: [...scope.sources, target, ...rows] })
  }

  #copy({ relation: range, attlist, is_from: isFrom, whereClause, query }: Node, scope: Scope): void {
    this.later(query, scope)
    if (!range) return
    const columns: string[] | undefined = attlist && readStrings(attlist)
    const relation = this.refer(range, isFrom ? 'copyFrom' : 'copyTo', { columns })
    const source = this.sourceOf(relation)
    if (isFrom) this.writes.push({ relation, columns })
    else this.reads.push(...(columns?.flatMap((name) => source.find(name) ?? []) ?? source.all))
    this.later(whereClause, { ...topScope, sources: [source] })
  }

  /** A scope with the names of its WITH; each of its queries sees the ones before it, all of them when it is recursive. */
  #open({ withClause }: Node, outer: Scope): Scope {
    const list: Node[] = (withClause?.ctes ?? []).map((item: Node) => item.CommonTableExpr)
    if (list.length === 0) return { outer, queries: outer.queries, sources: [] }
    const queries = new Set(outer.queries)
    if (withClause.recursive) for (const { ctename } of list) queries.add(ctename)
    for (const { ctename, ctequery } of list) {
      this.later(ctequery, { outer, queries: new Set(queries), sources: [] })
      queries.add(ctename)
    }
    return { outer, queries, sources: [] }
  }

  refer(
    range: RangeVar,
    use: RelationUse,
    more: Partial<Pick<RelationReference, 'needsTable' | 'takesQuery' | 'columns'>> = {},
  ): RelationReference {
    const parts = 1 + (range.schemaname === undefined ? 0 : 1) + (range.catalogname === undefined ? 0 : 1)
    const at = range.location ?? 0
    const relation = { range, at, parts, use, needsTable: false, takesQuery: false, ...more }
    this.relations.push(relation)
    return relation
  }

  sourceOf(relation: RelationReference): Source {
    return relationSource(relation, this.#catalog.locate(relation.range))
  }

  #column({ fields, location }: Node, scope: Scope): ColumnReference {
    const path = readStrings(fields)
    const isStar = path.length < fields.length
    const qualifier = isStar ? path : path.slice(0, -1)
    const named = qualifier.length > 1 ? findNamed(qualifier, scope) : []
    const qualified = (named ?? []).flatMap(({ relation }) => relation ?? [])
    const reference = { path, isStar, at: location ?? 0, qualified }
    this.columns.push(reference)
    this.reads.push(...findOrigins(reference, scope))
    for (const { uses } of upwards(scope)) uses?.push(reference)
    return reference
  }

  #write(relation: RelationReference, targets?: readonly Node[]): void {
    this.writes.push({ relation, columns: targets?.map((target) => target.ResTarget?.name) })
  }
}

function rename(source: Source, name: string): Source {
  const { relation, ...rest } = source
  return { ...rest, name, schema: null }
}
