import type { Statement } from '../../sql/parse.ts'
import { checkDepth, type Node, openWith, type RangeVar, walkFields } from '../../sql/syntax-tree.ts'
import type { WatchedColumn, WatchedRelation } from '../ports.ts'
import type { Names } from '../rewrite/find-moves.ts'
import {
  asMasked,
  commonWith,
  joinSource,
  type Level,
  otherSource,
  relationSource,
  resolve,
  type Source,
  topLevel,
} from './source.ts'
import { kindOf } from './statement-kind.ts'
import { runsText } from './text-runners.ts'
import { type Found, nothingFound, type StatementEffect, touchOf } from './touch.ts'

/** What these say about a relation is nothing that is in it. */
const looksAtNoRow = new Set([
  'LockStmt',
  'VacuumStmt',
  'GrantStmt',
  'TableLikeClause',
  'CreateStmt',
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

/**
 * Which masked columns a statement touches, by the meaning that names have in it. Where that is uncertain it is every column
 * that may be meant: what is missing in the audit is worse than what is there too often.
 */
export function findTouches({ stmt }: Statement, names: Names): StatementEffect {
  const toucher = new Toucher(names)
  toucher.walk(stmt, topLevel, 0)
  const [[key, node] = []] = Object.entries(stmt ?? {}) as [string, Node][]
  return {
    touch: touchOf(kindOf(key, node), toucher.found),
    prepares: key === 'PrepareStmt' ? node.name : undefined,
    executes: toucher.executes,
    dependsOnPath: toucher.dependsOnPath,
  }
}

class Toucher {
  readonly found: Found = nothingFound()
  readonly executes: string[] = []
  dependsOnPath = false
  readonly #names: Names

  constructor(names: Names) {
    this.#names = names
  }

  walk(node: Node, level: Level, depth: number): void {
    walkFields(
      node,
      depth,
      (key, value, below) => this.#enter(key, value, level, below),
      // A relation in a statement that is not known here: it may do anything with it.
      (each) => typeof each.relname === 'string' && this.#touchAll(each),
    )
  }

  #enter(key: string, node: Node, level: Level, depth: number): void {
    switch (key) {
      case 'SelectStmt':
        this.#select(node, level, depth)
        break
      case 'InsertStmt':
        this.#insert(node, level, depth)
        break
      case 'UpdateStmt':
      case 'DeleteStmt':
        this.#change(key, node, level, depth)
        break
      case 'MergeStmt':
        this.#merge(node, level, depth)
        break
      case 'CopyStmt':
        this.#copy(node, level, depth)
        break
      case 'TruncateStmt':
        for (const { RangeVar: range } of node.relations ?? []) this.#write(this.#find(range, topLevel))
        break
      case 'ColumnRef':
        this.#column(node.fields, level)
        break
      case 'ExecuteStmt':
        this.executes.push(node.name)
        this.walk(node.params, level, depth)
        break
      case 'DoStmt':
        this.found.isUnparsed = true
        break
      case 'CreateFunctionStmt':
        this.found.isUnparsed = true
        this.walk(node.sql_body, level, depth)
        break
      case 'FuncCall':
      case 'funccall':
        if (runsText((node.funcname ?? []).map((part: Node) => part.String?.sval)))
          this.found.isUnparsed = true
        this.walk(node, level, depth)
        break
      default:
        if (!looksAtNoRow.has(key)) this.walk(node, level, depth)
    }
  }

  #select(node: Node, outer: Level, depth: number): void {
    checkDepth(depth)
    const level = this.#open(node, outer, depth)
    for (const side of [node.larg, node.rarg]) if (side) this.#select(side, level, depth + 1)
    const { withClause, larg, rarg, fromClause, ...rest } = node
    this.#from(fromClause, level, depth)
    this.walk(rest, level, depth)
  }

  #insert(node: Node, outer: Level, depth: number): void {
    const level = this.#open(node, outer, depth)
    this.walk(node.selectStmt, level, depth)
    const relation = this.#find(node.relation, topLevel)
    this.#write(relation, node.cols)
    const target = sourceOf(relation, node.relation, false)
    const { onConflictClause: conflict } = node
    if (conflict) {
      // PostgreSQL asks for the right to read of `excluded` what it asks for of the row itself.
      const inside = { ...level, sources: [target, { ...target, name: 'excluded', schema: undefined }] }
      for (const { IndexElem: element } of conflict.infer?.indexElems ?? [])
        if (element.name !== undefined) this.#read(target.find(element.name) ?? [])
      // A constraint has a name, and the columns of that are not known.
      if (conflict.infer?.conname !== undefined) this.#read(target.all)
      this.#assign(relation, conflict.targetList)
      this.walk(conflict, inside, depth)
    }
    this.#returning(node, target, level, depth)
  }

  #change(key: string, node: Node, outer: Level, depth: number): void {
    const level = this.#open(node, outer, depth)
    const relation = this.#find(node.relation, topLevel)
    const target = this.#target(relation, node.relation)
    level.sources.push(target)
    if (key === 'DeleteStmt') this.#write(relation)
    else this.#assign(relation, node.targetList)
    this.#from(node.fromClause ?? node.usingClause, level, depth)
    this.walk([node.targetList, node.whereClause], level, depth)
    this.#returning(node, target, level, depth)
  }

  #merge(node: Node, outer: Level, depth: number): void {
    const level = this.#open(node, outer, depth)
    const relation = this.#find(node.relation, topLevel)
    const target = this.#target(relation, node.relation)
    this.#from([node.sourceRelation], level, depth)
    level.sources.push(target)
    this.walk(node.joinCondition, level, depth)
    for (const { MergeWhenClause: when } of node.mergeWhenClauses ?? []) {
      if (when.commandType === 'CMD_UPDATE') this.#assign(relation, when.targetList)
      else if (when.commandType === 'CMD_INSERT') this.#write(relation, when.targetList)
      else if (when.commandType === 'CMD_DELETE') this.#write(relation)
      this.walk(when, level, depth)
    }
    this.#returning(node, target, level, depth)
  }

  /** Behind RETURNING the row is there before and after, under names of their own. */
  #returning({ returningClause: clause }: Node, target: Source, level: Level, depth: number): void {
    if (!clause) return
    const given = (clause.options ?? []).map((option: Node) => option.ReturningOption?.value)
    const names = ['old', 'new', ...given]
    const rows = names.map((name) => ({ ...target, name, schema: undefined }))
    this.walk(clause.exprs, { ...level, sources: [...level.sources, target, ...rows] }, depth)
  }

  #copy(node: Node, level: Level, depth: number): void {
    const { relation: range, attlist, is_from: isFrom } = node
    if (range) {
      const relation = this.#find(range, topLevel)
      const source = sourceOf(relation, range, !isFrom && this.#isMoved(relation, true))
      const list = attlist?.map((item: Node) => item.String?.sval as string)
      if (isFrom)
        this.#write(
          relation,
          list?.map((name: string) => ({ ResTarget: { name } })),
        )
      else {
        this.#read(list ? list.flatMap((name: string) => source.find(name) ?? []) : source.all)
        this.#read(relation?.shows ?? [])
      }
      this.walk(node.whereClause, { ...topLevel, sources: [source] }, depth)
    }
    this.walk(node.query, level, depth)
  }

  /** A level with the names of its WITH. */
  #open(node: Node, outer: Level, depth: number): Level {
    const ctes = openWith(node, outer.ctes, (query, seen) =>
      this.walk(query, { outer, ctes: seen, sources: [] }, depth + 1),
    )
    return { outer, ctes, sources: [] }
  }

  /** In the order of the text: what is lateral sees what stands before it. */
  #from(items: readonly Node[] | undefined, level: Level, depth: number): void {
    for (const item of items ?? []) level.sources.push(...this.#item(item, level, depth + 1))
  }

  #item(item: Node, level: Level, depth: number): Source[] {
    checkDepth(depth)
    const [[key, node] = []] = Object.entries(item ?? {}) as [string, Node][]
    switch (key) {
      case 'RangeVar':
        return [this.#relation(node, level)]
      case 'JoinExpr':
        return this.#join(node, level, depth)
      case 'RangeTableSample':
        this.walk([node.method, node.args, node.repeatable], level, depth)
        return this.#item(node.relation, level, depth + 1)
      case 'RangeSubselect':
        this.walk(node.subquery, node.lateral ? level : { ...level, sources: [] }, depth)
        return [otherSource(node.alias?.aliasname)]
      default:
        this.walk(item, level, depth)
        return [otherSource(node?.alias?.aliasname)]
    }
  }

  #join(node: Node, level: Level, depth: number): Source[] {
    const left = this.#item(node.larg, level, depth + 1)
    const right = this.#item(node.rarg, { ...level, sources: [...level.sources, ...left] }, depth + 1)
    const parts = [...left, ...right]
    for (const { String: name } of node.usingClause ?? [])
      this.#read(parts.flatMap((part) => part.find(name.sval) ?? []))
    if (node.isNatural) {
      this.#read(commonWith(left, right))
      this.#read(commonWith(right, left))
    }
    this.walk(node.quals, { ...level, sources: parts }, depth)
    if (node.join_using_alias) parts.push(otherSource(node.join_using_alias.aliasname))
    const { alias } = node
    return alias ? [...parts, joinSource(alias.aliasname, parts, alias.colnames !== undefined)] : parts
  }

  #relation(range: RangeVar, level: Level): Source {
    const relation = this.#find(range, level)
    this.#read(this.#isMoved(relation, range.inh === true) ? asMasked(relation?.shows) : relation?.shows)
    return sourceOf(relation, range, this.#isMoved(relation, range.inh === true))
  }

  #target(relation: WatchedRelation | undefined, range: RangeVar): Source {
    this.#read(relation?.shows)
    return sourceOf(relation, range, false)
  }

  /** A read of it goes to the twin. */
  #isMoved(relation: WatchedRelation | undefined, withChildren: boolean): boolean {
    const moved = relation && this.#names.masks.find(relation.schema, relation.name)
    return moved !== undefined && (withChildren || !moved.hasChildren)
  }

  #find({ catalogname, schemaname, relname }: RangeVar, level: Level): WatchedRelation | undefined {
    const { masks, database, path } = this.#names
    if (catalogname !== undefined && catalogname !== database) return undefined
    if (schemaname !== undefined) return masks.findWatched(schemaname, relname)
    if (level.ctes.has(relname)) return undefined
    const schema = masks.resolve(relname, path)
    this.dependsOnPath ||= masks.dependsOnPath(relname, schema)
    // Temporary relations of that name are not left out: whether one is there still is a guess.
    return schema === undefined ? masks.findWatchedAnywhere(relname) : masks.findWatched(schema, relname)
  }

  #touchAll(range: RangeVar): void {
    const relation = this.#find(range, topLevel)
    this.#read(relation?.masked)
    this.#read(relation?.shows)
  }

  #column(fields: readonly Node[], level: Level): void {
    const path = fields.flatMap((field) => (field.String ? [field.String.sval as string] : []))
    this.#read(resolve(path, path.length < fields.length, level))
  }

  #assign(relation: WatchedRelation | undefined, targets: readonly Node[] | undefined): void {
    this.#write(relation, targets ?? [])
  }

  /** Without a list, all of it. What is written through a view goes to any of the columns that it shows. */
  #write(relation: WatchedRelation | undefined, targets?: readonly Node[]): void {
    if (!relation) return
    const names = targets && new Set(targets.map((target) => target.ResTarget?.name))
    for (const { column, attribute } of relation.masked)
      if (!names || names.has(attribute)) this.found.written.add(column)
    if (!names || names.size > 0) for (const { column } of relation.shows) this.found.written.add(column)
  }

  #read(columns: readonly WatchedColumn[] | undefined): void {
    for (const { column, isRaw } of columns ?? []) (isRaw ? this.found.raw : this.found.masked).add(column)
  }
}

function sourceOf(relation: WatchedRelation | undefined, range: RangeVar, isMoved: boolean): Source {
  const { alias, relname, schemaname } = range
  const name = alias?.aliasname ?? relname
  if (!relation || relation.masked.length === 0) return otherSource(name, alias ? undefined : schemaname)
  const masked = isMoved ? asMasked(relation.masked) : relation.masked
  return relationSource(
    { attributes: relation.attributes, masked },
    {
      name,
      schema: alias ? undefined : relation.schema,
      renamed: (alias?.colnames ?? []).map((item) => item.String?.sval),
    },
  )
}
