import type { Effort } from './effort.ts'
import type { Collector } from './read-from.ts'
import type {
  Assignment,
  Catalog,
  ColumnOrigin,
  ColumnReference,
  Grouping,
  Origin,
  Query,
  References,
  RelationReference,
  RelationUse,
  TypeReference,
  Value,
  Write,
} from './references.ts'
import { findNamed, findOrigins, relationSource, type Scope, type Source, upwards } from './scope.ts'
import { type Node, type RangeVar, readStrings } from './syntax-tree.ts'
import { createValue, Queries } from './values.ts'

/** A part of the tree that is still to be looked at. Deep trees then take no stack. */
interface Work {
  readonly node: Node
  readonly scope: Scope
}

/** Gathers the references of one statement while its tree is walked. */
export class ReferenceCollector implements References, Collector {
  readonly relations: RelationReference[] = []
  readonly columns: ColumnReference[] = []
  readonly reads: ColumnOrigin[] = []
  readonly writes: Write[] = []
  readonly assignments: Assignment[] = []
  readonly groupings: Grouping[] = []
  readonly types: TypeReference[] = []
  readonly calls: string[][] = []
  readonly executes: string[] = []
  hasHiddenCode = false
  readonly queries = new Queries()
  readonly effort: Effort
  readonly #catalog: Catalog
  readonly #work: Work[] = []
  /** Columns of each relation that are in `reads`; undefined stands for all of them. */
  readonly #read = new Map<RelationReference, Set<string | undefined>>()

  constructor(catalog: Catalog, effort: Effort) {
    this.#catalog = catalog
    this.effort = effort
  }

  /** The part of the tree to look at next. */
  next(): Work | undefined {
    return this.#work.pop()
  }

  later(node: Node, scope: Scope): void {
    if (node !== null && typeof node === 'object') this.#work.push({ node, scope })
  }

  /** Columns that an item names become part of the value in its place. */
  fill(items: readonly Node[] | undefined, values: readonly Value[], scope: Scope): void {
    // The last one first: work is taken from the end.
    for (let at = (items?.length ?? 0) - 1; at >= 0; at--)
      this.later(items?.[at], { ...scope, into: values[at] })
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
    return relationSource(relation, this.#catalog.locate(relation.range), this.effort)
  }

  column({ fields, location }: Node, scope: Scope): ColumnReference {
    const path = readStrings(fields)
    const isStar = path.length < fields.length
    const qualifier = isStar ? path : path.slice(0, -1)
    const named = qualifier.length > 1 ? findNamed(qualifier, scope, this.effort) : []
    const qualified = (named ?? []).flatMap(({ relation }) => relation ?? [])
    const origins = findOrigins({ path, isStar }, scope, this.effort)
    const reference = { path, isStar, at: location ?? 0, qualified, origins }
    this.columns.push(reference)
    // `t.f` calls f(t) where t has no such column.
    if (!isStar && path.length > 1) this.calls.push(path.slice(-1))
    this.read(origins)
    if (scope.into) this.#putInto(scope.into, reference, origins, scope)
    for (const { uses } of upwards(scope, this.effort)) {
      this.effort.spend()
      uses?.push(reference)
    }
    return reference
  }

  #putInto(value: Value, { path, isStar }: ColumnReference, origins: readonly Origin[], scope: Scope): void {
    for (const origin of origins) value.from.push(origin)
    if (value.isStar && isStar)
      value.sources = path.length === 0 ? scope.sources : findNamed(path, scope, this.effort)
  }

  /** Keeps one entry for each relation and column. */
  read(origins: readonly Origin[]): void {
    for (const origin of origins) {
      if (!('relation' in origin)) continue
      const { relation, column } = origin
      const known = this.#read.get(relation) ?? new Set()
      if (known.has(column)) continue
      this.#read.set(relation, known.add(column))
      this.reads.push(origin)
    }
  }

  create({ rel, colNames }: Node, stored: Query): void {
    const relation = this.refer(rel, 'create')
    this.assignments.push({ relation, columns: colNames && readStrings(colNames), stored })
  }

  assign(relation: RelationReference, targets: readonly Node[] | undefined, scope: Scope): void {
    for (const { ResTarget: target } of targets ?? []) {
      const stored = createValue()
      this.assignments.push({ relation, columns: [target.name], stored })
      this.later([target.val, target.indirection], { ...scope, into: stored })
    }
  }

  /** `INSERT INTO t (a[…])`: a subscript is any expression. */
  subscripts(targets: readonly Node[] | undefined, scope: Scope): void {
    for (const target of targets ?? []) this.later(target.ResTarget?.indirection, scope)
  }

  assignRow(relation: RelationReference, { targetList, values }: Node, scope: Scope): void {
    const row = (values ?? []).map(() => createValue())
    this.fill(values, row, scope)
    this.subscripts(targetList, scope)
    this.assignments.push({ relation, columns: namesOf(targetList), stored: { parts: [row] } })
  }

  /** `changes`: rows that are there already. */
  write(relation: RelationReference, targets: readonly Node[] | undefined, changes: boolean): void {
    this.writes.push({ relation, columns: namesOf(targets), changes })
  }
}

export function namesOf(targets: readonly Node[] | undefined): string[] | undefined {
  return targets?.map((target) => target.ResTarget?.name)
}
