import type { MaskedRelation } from '../../contracts/role-masks.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Effort } from '../../sql/effort.ts'
import { findListEnd, findNameEnd } from '../../sql/name-end.ts'
import type { ColumnReference, References, RelationReference } from '../../sql/references.ts'
import type { Splice } from '../../sql/splice.ts'
import { findGrouped } from './group-by-key.ts'
import { readCatalogWithout } from './hide-controller-schemas.ts'
import { findBase, findMasked, type Names } from './names.ts'
import { readColumnsWithMasked } from './show-columns.ts'

/** Without a schema: something in the statement itself. */
type Target = { readonly schema?: string; readonly name: string }

export interface Moves {
  readonly splices: readonly Splice[]
  /** A twin is read, not a catalog alone. */
  readonly readsTwin: boolean
  /** The relations that are read as their twins show them. */
  readonly masked: ReadonlySet<MaskedRelation>
}

/**
 * The names in a statement that move: reads go to the twins, targets of writes stay. `bytes` is the text with one character
 * for each byte of UTF-8.
 */
export function findMoves(
  { relations, columns, groupings, effort }: References,
  names: Names,
  bytes: string,
): Moves {
  const mover = new Mover(names, bytes, effort)
  for (const relation of relations) mover.move(relation)
  for (const column of columns) mover.moveQualifier(column)
  for (const grouping of groupings)
    for (const { at, columns } of findGrouped(grouping, (relation) => findMoved(relation, names), effort))
      mover.put(at, at, columns)
  return mover
}

class Mover implements Moves {
  readonly splices: Splice[] = []
  readsTwin = false
  readonly masked = new Set<MaskedRelation>()
  readonly #names: Names
  readonly #bytes: string
  readonly #effort: Effort
  /** A text that stands in several places is held once. */
  readonly #texts = new Map<string, Buffer>()
  readonly #targets = new Map<RelationReference, Target>()

  constructor(names: Names, bytes: string, effort: Effort) {
    this.#names = names
    this.#bytes = bytes
    this.#effort = effort
  }

  put(from: number, to: number, text: string): void {
    this.splices.push({ from, to, text: this.#hold(text) })
  }

  /** A step for each byte: they stay with the analysis in a cache. */
  #hold(text: string): Buffer {
    this.#effort.scan(text.length)
    const known = this.#texts.get(text)
    if (known) return known
    this.#effort.spend(text.length)
    const bytes = Buffer.from(text)
    this.#texts.set(text, bytes)
    return bytes
  }

  move(reference: RelationReference): void {
    const { range, use } = reference
    switch (use) {
      case 'read':
        if (!this.#moveCatalog(reference)) this.#moveToTwin(reference)
        break
      case 'lockToRead':
      case 'like':
        this.#moveToTwin(reference)
        break
      // A write to a twin means the table: the path leads to the twin first, or a tool took its name from the rows it got.
      case 'insert':
      case 'target':
      case 'copyFrom':
      // This lock takes the right to write, which is one to the table.
      case 'lock':
        this.#moveTo(reference, findBase(this.#names, range))
        break
      case 'copyTo':
        this.#moveCopy(reference)
    }
  }

  #moveToTwin(reference: RelationReference): void {
    const relation = findMoved(reference, this.#names)
    if (relation) this.masked.add(relation)
    this.#moveTo(reference, relation?.twin)
  }

  #moveTo(reference: RelationReference, to: Target | undefined): void {
    if (!to) return
    this.#targets.set(reference, to)
    this.#replaceName(reference, render(to))
    this.readsTwin = true
  }

  /** Catalogs of PostgreSQL, where tools look for relations and columns. */
  #moveCatalog(reference: RelationReference): boolean {
    const { range, takesQuery } = reference
    const { hiding, masks } = this.#names
    if (!takesQuery) return false
    const showsColumns =
      masks.relations.length > 0 &&
      range.schemaname === 'information_schema' &&
      range.relname === 'columns' &&
      range.inh === true
    const rows = showsColumns
      ? readColumnsWithMasked(masks.relations) + (range.alias ? '' : ' AS columns')
      : hiding && readCatalogWithout(hiding, range)
    if (rows === undefined) return false
    this.#targets.set(reference, { name: range.relname })
    this.#replaceName(reference, rows)
    return true
  }

  #moveCopy(reference: RelationReference): void {
    const { at, parts, columns } = reference
    const relation = findCopied(reference, this.#names)
    if (!relation) return
    const end = findNameEnd(this.#bytes, at, parts)
    const list = (columns ?? relation.columns).map(quoteIdentifier).join(', ')
    const query = `(SELECT ${list} FROM ${render(relation.twin)})`
    this.put(at, columns ? (findListEnd(this.#bytes, end) ?? end) : end, query)
    this.masked.add(relation)
    this.readsTwin = true
  }

  /** `schema.table.column` moves with its table. */
  moveQualifier({ path, isStar, at, qualified }: ColumnReference): void {
    const count = path.length + (isStar ? 1 : 0)
    const extra = count === 4 && path[0] === this.#names.database ? 1 : 0
    if (count !== 3 + extra) return
    const relation = qualified.find((each) => this.#targets.has(each))
    const target = relation && this.#targets.get(relation)
    if (!target) return
    this.put(at, findNameEnd(this.#bytes, at, 2 + extra), render(target))
    this.readsTwin ||= target.schema !== undefined
  }

  #replaceName({ at, parts }: RelationReference, text: string): void {
    this.put(at, findNameEnd(this.#bytes, at, parts), text)
  }
}

/** The server gets the name of a twin, or of its table, with a schema: its search path does not matter. */
export function isReplaced(reference: RelationReference, names: Names): boolean {
  switch (reference.use) {
    case 'read':
    case 'lockToRead':
    case 'like':
      return findMoved(reference, names) !== undefined
    case 'insert':
    case 'target':
    case 'copyFrom':
    case 'lock':
      return findBase(names, reference.range) !== undefined
    case 'copyTo':
      return findCopied(reference, names) !== undefined
    default:
      return false
  }
}

/** COPY of a parent leaves its children's rows out, which its twin cannot. */
function findCopied({ range }: RelationReference, names: Names): MaskedRelation | undefined {
  const relation = findMasked(names, range) ?? findBase(names, range)
  return relation?.hasChildren ? undefined : relation
}

/**
 * Without its children a parent has no twin: the rows would be others. Rows of a view can be neither locked nor sampled: of
 * the table itself they can, as long as no masked column is read.
 */
function findMoved({ range, needsTable }: RelationReference, names: Names): MaskedRelation | undefined {
  const relation = needsTable ? undefined : findMasked(names, range)
  return relation?.hasChildren && range.inh !== true ? undefined : relation
}

function render({ schema, name }: Target): string {
  return (schema === undefined ? '' : `${quoteIdentifier(schema)}.`) + quoteIdentifier(name)
}
