import { namesOf, ReferenceCollector } from './collect-references.ts'
import { Effort } from './effort.ts'
import { statementLimits } from './limits.ts'
import type { Statement } from './parse.ts'
import { findOptions, readFrom } from './read-from.ts'
import type { Catalog, ColumnReference, References } from './references.ts'
import { outputSource, type Scope, type Source, topScope } from './scope.ts'
import { type Node, readStrings } from './syntax-tree.ts'

/** Statements and clauses that name a relation without reading its rows. */
const looksAtNoRow = new Set([
  'VacuumStmt',
  'GrantStmt',
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
/** Objects that run a function wherever they are used. A string in their definition may be its name. */
const runsFunction = new Set(['OBJECT_OPERATOR', 'OBJECT_AGGREGATE'])
/** PostgreSQL's number of ACCESS SHARE. */
const accessShare = 1

/**
 * Finds everything that a statement refers to, by the meaning that names have in it. Where that is uncertain it is every
 * column that may be meant. Statements of one text share an effort. Refuses what takes more steps than that has.
 */
export function resolveReferences(
  { stmt }: Statement,
  catalog: Catalog,
  effort = new Effort(statementLimits),
): References {
  const resolver = new Resolver(catalog, effort)
  resolver.walk(stmt)
  return resolver
}

class Resolver extends ReferenceCollector {
  walk(stmt: Node): void {
    this.later(stmt, topScope)
    for (let work = this.next(); work; work = this.next()) {
      const { node, scope } = work
      if (Array.isArray(node)) for (const item of node.toReversed()) this.later(item, scope)
      else {
        if (typeof node.relname === 'string') this.refer(node, 'other')
        for (const [key, value] of Object.entries(node)) this.#enter(key, value, scope)
      }
    }
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
      case 'CreateTableAsStmt':
        this.create(node.into, this.queries.find(node.query))
        this.later(node.query, scope)
        break
      case 'SubLink':
        this.#operate(node.operName)
        this.later(node.testexpr, scope)
        this.later(
          node.subselect,
          node.subLinkType === 'EXISTS_SUBLINK' ? { ...scope, into: undefined } : scope,
        )
        break
      case 'NullTest':
        this.later(node.arg, { ...scope, into: undefined })
        break
      case 'CopyStmt':
        this.#copy(node, scope)
        break
      case 'TruncateStmt':
        for (const { RangeVar: range } of node.relations ?? [])
          this.write(this.refer(range, 'truncate'), undefined, false)
        break
      case 'LockStmt':
        for (const { RangeVar: range } of node.relations ?? [])
          this.refer(range, node.mode === accessShare ? 'lockToRead' : 'lock')
        break
      case 'CreateStmt':
        this.#createTable(node, scope)
        break
      case 'CreateForeignTableStmt':
        this.#createTable(node.base ?? {}, scope)
        break
      case 'TableLikeClause':
        this.refer(node.relation, 'like')
        break
      case 'ColumnRef':
        this.column(node, scope)
        break
      case 'ExecuteStmt':
        this.executes.push(node.name)
        this.later(node.params, scope)
        break
      case 'A_Indirection':
        // `(x).f` calls f(x) where x has no such field.
        for (const name of readStrings(node.indirection)) this.calls.push([name])
        this.later(node, scope)
        break
      case 'A_Expr':
      case 'SortBy':
        this.#operate(key === 'SortBy' ? node.useOp : node.name)
        this.later(node, scope)
        break
      case 'DefineStmt':
        this.hasHiddenCode ||= runsFunction.has(node.kind)
        this.later(node, scope)
        break
      case 'DoStmt':
        this.hasHiddenCode = true
        break
      case 'CreateFunctionStmt':
        this.hasHiddenCode = true
        this.later(node.sql_body, scope)
        break
      default:
        if (key === 'FuncCall' || key === 'funccall') {
          const name = readStrings(node.funcname)
          this.calls.push(name)
          // A count of values holds none of them.
          if (name.at(-1) === 'count') {
            this.later(node, { ...scope, into: undefined })
            break
          }
        }
        if (key === 'TypeName' || key === 'typeName')
          this.types.push({ path: readStrings(node.names), at: node.location ?? 0 })
        if (!looksAtNoRow.has(key)) this.later(node, scope)
    }
  }

  /** An operator with a schema may be one of the session's own. */
  #operate(name: readonly Node[] | undefined): void {
    if (name && name.length > 1) this.calls.push(readStrings(name))
  }

  /** What its defaults, checks and bounds call. A table that it refers to is not read. */
  #createTable({ relation, inhRelations, tableElts, ...rest }: Node, scope: Scope): void {
    this.later(rest, scope)
    for (const { RangeVar: range } of inhRelations ?? []) this.refer(range, 'parent')
    const withoutKey = ({ Constraint: constraint, ...other }: Node) =>
      constraint ? { ...constraint, pktable: undefined } : other
    for (const { ColumnDef: column, ...element } of tableElts ?? [])
      this.later(
        column ? { ...column, constraints: column.constraints?.map(withoutKey) } : withoutKey(element),
        scope,
      )
  }

  #select(node: Node, outer: Scope): void {
    const scope = this.#open(node, outer)
    const {
      withClause,
      larg,
      rarg,
      fromClause,
      whereClause,
      groupClause,
      targetList,
      valuesLists,
      ...others
    } = node
    const { sortClause, distinctClause, ...rest } = others
    outer.into?.from.push({ query: this.queries.findSelect(node), renamed: [] })
    this.#storeInto(node)
    for (const side of [rarg, larg]) if (side) this.later({ SelectStmt: side }, scope)
    readFrom(fromClause, scope, this, findOptions(node))
    this.later(whereClause, scope)
    const isPlain = groupClause?.every((item: Node) => item.ColumnRef)
    const grouped = groupClause ? this.#withOutput(node, scope) : scope
    if (!isPlain) this.later(groupClause, grouped)
    const uses: ColumnReference[] = []
    if (isPlain)
      this.groupings.push({
        keys: groupClause.map((item: Node) => this.column(item.ColumnRef, grouped)),
        relations: scope.sources.flatMap((source) =>
          source.relation && !source.isHidden ? [source.relation] : [],
        ),
        uses,
      })
    const inner = isPlain ? { ...scope, uses } : scope
    const values = this.queries.list(node)
    this.fill(targetList, values, inner)
    for (const row of valuesLists ?? []) this.fill(row.List?.items, values, inner)
    this.later(rest, inner)
    const listed = [...(sortClause ?? []), ...(distinctClause ?? [])]
    const isName = (item: Node) => item.ColumnRef !== undefined || item.SortBy?.node?.ColumnRef !== undefined
    const named = listed.some(isName) ? this.#withOutput(node, inner) : inner
    for (const item of listed) this.later(item, isName(item) ? named : inner)
  }

  /** A scope in which the columns of the result have names, too. */
  #withOutput(select: Node, scope: Scope): Scope {
    this.effort.scan(scope.sources.length)
    const output = outputSource(this.queries.findSelect(select), this.effort)
    return { ...scope, sources: [...scope.sources, output] }
  }

  #insert(node: Node, outer: Scope): void {
    const scope = this.#open(node, outer)
    this.later(node.selectStmt, scope)
    const relation = this.refer(node.relation, 'insert')
    this.write(relation, node.cols, false)
    this.subscripts(node.cols, scope)
    if (node.selectStmt)
      this.assignments.push({
        relation,
        columns: namesOf(node.cols),
        stored: this.queries.find(node.selectStmt),
      })
    const target = this.sourceOf(relation)
    const { onConflictClause: conflict } = node
    if (conflict) {
      for (const { IndexElem: element } of conflict.infer?.indexElems ?? [])
        if (element.name !== undefined) this.read(target.find(element.name) ?? target.all)
      // A constraint has a name, and the columns of that are not known.
      if (conflict.infer?.conname !== undefined) this.read(target.all)
      this.write(relation, conflict.targetList ?? [], conflict.targetList !== undefined)
      // PostgreSQL asks for the right to read of `excluded` what it asks for of the row itself.
      const inside = { ...scope, sources: [target, rename(target, 'excluded')] }
      this.assign(relation, conflict.targetList, inside)
      this.later([conflict.infer, conflict.whereClause], inside)
    }
    this.#returning(node, target, scope)
  }

  #change(node: Node, outer: Scope, isDelete: boolean): void {
    const scope = this.#open(node, outer)
    const relation = this.refer(node.relation, 'target')
    const target = this.sourceOf(relation)
    scope.sources.push(target)
    this.write(relation, isDelete ? undefined : (node.targetList ?? []), true)
    readFrom(node.fromClause ?? node.usingClause, scope, this)
    this.assign(relation, node.targetList, scope)
    this.later(node.whereClause, scope)
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
      if (when.commandType === 'CMD_UPDATE') this.write(relation, when.targetList ?? [], true)
      else if (when.commandType === 'CMD_INSERT') this.write(relation, when.targetList, false)
      else if (when.commandType === 'CMD_DELETE') this.write(relation, undefined, true)
      this.later(when.condition, scope)
      if (when.commandType === 'CMD_INSERT') this.assignRow(relation, when, scope)
      else this.assign(relation, when.targetList, scope)
    }
    this.#returning(node, target, scope)
  }

  /** Behind RETURNING the row is there before and after, under names of their own. */
  #returning(node: Node, target: Source, scope: Scope): void {
    const { returningClause: clause } = node
    if (!clause) return
    const given = (clause.options ?? []).map((option: Node) => option.ReturningOption?.value)
    const rows = ['old', 'new', ...given].map((name) => rename(target, name))
    const inside = { ...scope, sources: [...scope.sources, target, ...rows] }
    this.fill(clause.exprs, this.queries.list(node), inside)
  }

  #copy({ relation: range, attlist, is_from: isFrom, whereClause, query }: Node, scope: Scope): void {
    this.later(query, scope)
    if (!range) return
    const columns: string[] | undefined = attlist && readStrings(attlist)
    const relation = this.refer(range, isFrom ? 'copyFrom' : 'copyTo', { columns })
    const source = this.sourceOf(relation)
    if (isFrom) this.writes.push({ relation, columns })
    else this.read(columns?.flatMap((name) => source.find(name) ?? source.all) ?? source.all)
    this.later(whereClause, { ...topScope, sources: [source] })
  }

  /** A scope with the names of its WITH; each of its queries sees the ones before it, all of them when it is recursive. */
  #open({ withClause }: Node, outer: Scope): Scope {
    const list: Node[] = (withClause?.ctes ?? []).map((item: Node) => item.CommonTableExpr)
    if (list.length === 0) return { outer, queries: outer.queries, sources: [] }
    const queries = new Map(outer.queries)
    this.effort.spend(queries.size)
    const add = ({ ctename, ctequery, aliascolnames, search_clause: search, cycle_clause: cycle }: Node) =>
      queries.set(ctename, {
        query: this.queries.find(ctequery),
        renamed: readStrings(aliascolnames),
        ...((search || cycle) && {
          added: [search?.search_seq_column, cycle?.cycle_mark_column, cycle?.cycle_path_column],
        }),
      })
    if (withClause.recursive) list.forEach(add)
    for (const cte of list) {
      this.effort.spend(queries.size)
      this.later(cte.ctequery, {
        outer: { ...outer, into: undefined },
        queries: new Map(queries),
        sources: [],
      })
      add(cte)
    }
    return { outer, queries, sources: [] }
  }

  /** `SELECT … INTO`, which stands in the first SELECT of a set operation. */
  #storeInto(select: Node): void {
    let first = select
    while (first.larg) first = first.larg
    if (first.intoClause) this.create(first.intoClause, this.queries.findSelect(select))
  }
}

function rename(source: Source, name: string): Source {
  const { relation, ...rest } = source
  return { ...rest, name, schema: null }
}
