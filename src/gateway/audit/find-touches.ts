import type { WatchedColumn, WatchedRelation } from '../../contracts/role-masks.ts'
import type { Effort } from '../../sql/effort.ts'
import type { Statement } from '../../sql/parse.ts'
import type { References, RelationReference, RelationUse, Write } from '../../sql/references.ts'
import { type Node, unwrap } from '../../sql/syntax-tree.ts'
import { isReplaced } from '../rewrite/find-moves.ts'
import { findPossible, findSchema, findWatched, type Names } from '../rewrite/names.ts'
import { findMaskedColumns } from '../rewrite/watched-columns.ts'
import { isShownRaw } from './covers.ts'
import { kindOf } from './statement-kind.ts'
import { runsText } from './text-runners.ts'
import { type Found, nothingFound, type StatementEffect, touchOf } from './touch.ts'

/**
 * Returns the masked columns that a statement touches. Where that is uncertain it is every column that may be meant: what is missing in
 * the audit is worse than what is there too often.
 */
export function findTouches({ stmt }: Statement, references: References, names: Names): StatementEffect {
  const [kind, node] = unwrap(stmt)
  const toucher = new Toucher(names, references.effort)
  for (const relation of references.relations) toucher.touch(relation)
  for (const { relation, column } of references.reads) toucher.readColumn(relation, column)
  const changing = new Set(references.writes.flatMap((write) => (write.changes ? [write.relation] : [])))
  for (const write of references.writes) toucher.write(write, changing.has(write.relation))
  if (defining.has(kind ?? '')) {
    for (const relation of references.relations) toucher.pass(relation)
    for (const column of toucher.foundOnError.raw) toucher.found.raw.add(column)
  }
  toucher.found.isUnparsed ||=
    references.hasHiddenCode ||
    references.calls.some(runsText) ||
    changesUnnamed(kind, node, names) ||
    grants(kind, node, names)
  toucher.foundOnError.isUnparsed = rebuilding.has(kind ?? '')
  return {
    touch: touchOf(kindOf(kind, node), toucher.found),
    onError: touchOf(kindOf(kind, node), toucher.foundOnError),
    prepares: kind === 'PrepareStmt' ? node.name : undefined,
    executes: references.executes,
    dependsOnPath: toucher.dependsOnPath,
  }
}

/** Statements that make a view or rule, by which rows of another relation can be changed before the gateway has heard of it. */
const defining = new Set(['ViewStmt', 'RuleStmt', 'CreateSchemaStmt'])

/** Statements that read tables as their owners, to build them or what is derived from them anew: errors may show any value. */
const rebuilding = new Set(['ReindexStmt', 'ClusterStmt', 'VacuumStmt', 'RefreshMatViewStmt'])

/** Objects that stand for relations, or for columns of them. */
const containing = new Set(['OBJECT_SCHEMA', 'OBJECT_ATTRIBUTE', 'OBJECT_EXTENSION'])

/**
 * The statement gives a new name to something masked: reads by it are not recognised before the gateway has heard of it. Or it changes
 * masked columns by their type, or checks them by their domain.
 */
function changesUnnamed(kind: string | undefined, node: Node, names: Names): boolean {
  if (kind === 'AlterDomainStmt') return true
  if (kind === 'AlterTableStmt') return node.objtype === 'OBJECT_TYPE'
  if (kind !== 'RenameStmt' && kind !== 'AlterObjectSchemaStmt') return false
  if (containing.has(node.renameType) || containing.has(node.objectType)) return true
  return node.relation !== undefined && findPossible(names, node.relation) !== undefined
}

/**
 * The statement grants a role, or a privilege on a relation that shows masked columns, or may give that another owner: until the gateway
 * has heard of it, values that later statements show without naming their relation are not recognised.
 */
function grants(kind: string | undefined, node: Node, names: Names): boolean {
  if (kind === 'CreateSchemaStmt')
    return (node.schemaElts ?? []).some((element: Node) => grants(...unwrap(element), names))
  if (kind === 'ReassignOwnedStmt') return true
  if (kind === 'GrantRoleStmt') return node.is_grant === true
  if (kind !== 'GrantStmt' || node.is_grant !== true || node.objtype !== 'OBJECT_TABLE') return false
  if (node.targtype === 'ACL_TARGET_ALL_IN_SCHEMA') return true
  // Whatever the search path is.
  const { masks } = names
  return (node.objects ?? []).some(({ RangeVar: { schemaname, relname } }: Node) =>
    schemaname === undefined ? masks.findWatchedAnywhere(relname) : masks.findWatched(schemaname, relname),
  )
}

/** Uses that run the rules of a relation. What they return or store may be of a column that a view shows. */
const writes: ReadonlySet<RelationUse> = new Set(['insert', 'target', 'other'])

class Toucher {
  readonly found: Found = nothingFound()
  readonly foundOnError: Found = nothingFound()
  dependsOnPath = false
  readonly #names: Names
  readonly #watched = new Map<RelationReference, WatchedRelation | undefined>()
  readonly #effort: Effort
  /** Lists of columns that are in `found`, as masked or raw and as moved. */
  readonly #kept = new Set<readonly WatchedColumn[]>()
  readonly #moved = new Set<readonly WatchedColumn[]>()

  constructor(names: Names, effort: Effort) {
    this.#names = names
    this.#effort = effort
  }

  /** A lock says nothing about rows, nor do the columns and the name that a new table is to have. */
  touch(reference: RelationReference): void {
    const { use } = reference
    if (use === 'lock' || use === 'lockToRead' || use === 'like' || use === 'create') return
    const relation = this.#find(reference)
    if (!relation) return
    this.found.isUnparsed ||= relation.mayShowMore === true
    if (use === 'other') this.#read(relation.masked)
    // Another table may be tied to it: writes to that one then fail alike before the gateway has heard of it.
    if (use === 'other' || use === 'parent') {
      this.#fail(relation.fails, this.found)
      this.#fail(relation.failsOnChange, this.found)
    }
    if (writes.has(use)) this.#read(relation.rules)
    if (use !== 'read' && use !== 'copyTo' && !writes.has(use)) return
    const moves = use === 'read' && isReplaced(reference, this.#names)
    this.#read(relation.shows, moves)
    this.#read(relation.policies, moves)
  }

  /** What writes to the relation may show, by its rules and in errors. */
  pass(reference: RelationReference): void {
    if (isReplaced(reference, this.#names)) return
    const relation = this.#find(reference)
    if (!relation) return
    for (const columns of [relation.masked, relation.rules ?? []])
      this.#read(columns.filter(({ isRaw }) => isRaw))
    this.#fail(relation.fails, this.found)
    this.#fail(relation.failsOnChange, this.found)
  }

  /** Without a column, all of them. */
  readColumn(reference: RelationReference, column: string | undefined): void {
    const { use } = reference
    const relation = this.#find(reference)
    const moves = (use === 'read' || use === 'copyTo') && isReplaced(reference, this.#names)
    this.#read(relation && findMaskedColumns(relation, column), moves)
  }

  /**
   * Without a list, all of it. What is written through a view goes to any of the columns that it shows. `isOfChange`: the statement
   * changes rows of the relation that are there, by this write or another one.
   */
  write({ relation: reference, columns, changes }: Write, isOfChange: boolean): void {
    const relation = this.#find(reference)
    if (!relation) return
    const { masked, shows } = relation
    // TRUNCATE looks at no row, and runs no rule.
    if (reference.use !== 'truncate') this.#fail(relation.fails, this.foundOnError)
    if (changes) {
      this.#effort.scan(masked.length)
      for (const { column, isRaw } of masked) if (isRaw) this.foundOnError.raw.add(column)
      this.#fail(relation.failsOnChange, this.foundOnError)
    }
    this.#effort.scan((columns?.length ?? masked.length) + shows.length)
    const written = columns?.flatMap((name) => findMaskedColumns(relation, name)) ?? masked
    const named = !columns || columns.length > 0 ? [...written, ...shows] : written
    // An error shows all columns that the statement names anywhere, also to a role that may not read them. DELETE names none.
    const isNaming = isOfChange && (columns !== undefined || !changes)
    for (const { column } of named) {
      this.found.written.add(column)
      if (isNaming) this.foundOnError.raw.add(column)
    }
  }

  #find(reference: RelationReference): WatchedRelation | undefined {
    if (this.#watched.has(reference)) return this.#watched.get(reference)
    const { range } = reference
    const { masks } = this.#names
    if (range.schemaname === undefined)
      this.dependsOnPath ||= masks.dependsOnPath(range.relname, findSchema(this.#names, range))
    const find = isReplaced(reference, this.#names) ? findWatched : findPossible
    const relation = find(this.#names, range)
    this.#watched.set(reference, relation)
    return relation
  }

  #fail(numbers: readonly number[] = [], found: Found): void {
    for (const number of numbers) {
      const row = this.#names.masks.rows[number] ?? []
      this.#effort.scan(row.length)
      for (const column of row) found.raw.add(column)
    }
  }

  #read(columns: readonly WatchedColumn[] | undefined, moves = false): void {
    const read = moves ? this.#moved : this.#kept
    if (!columns || columns.length === 0 || read.has(columns)) return
    read.add(columns)
    this.#effort.scan(columns.length)
    for (const each of columns)
      (isShownRaw(each) && !moves ? this.found.raw : this.found.masked).add(each.column)
  }
}
