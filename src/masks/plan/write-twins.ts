import { createHash } from 'node:crypto'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { SqlRefusal } from '../../sql/refusal.ts'
import type { Column, MaskOf, Oid, Privilege, Relation, Snapshot } from '../model.ts'
import { twinOwnerName } from '../names.ts'
import { maskExpression } from './expressions.ts'
import type { Shown } from './follow-views.ts'
import { writeTwinAcl } from './grants.ts'
import type { TwinPlan } from './model.ts'
import { moveRelations } from './move-relations.ts'

/** What a turn needs to know to write twins. */
export interface TwinContext {
  readonly snapshot: Snapshot
  /** Texts of views whose twins have to be made; `null`: PostgreSQL did not print it in time. */
  readonly definitions: ReadonlyMap<Oid, string | null>
  /** Twins so far, by the quoted name of their relations: `public.people` → `masked_public.people`. */
  readonly moves: Map<string, string>
}

/** Where the twin is to be, whose, and what it is made from. */
export type TwinPlace = Pick<TwinPlan, 'schema' | 'name' | 'owner' | 'ownerOid' | 'basis'>

/** The owner of a twin over a table has no grants from before. */
const noRole = -1

const nameOf = ({ schema, name }: Pick<Relation, 'schema' | 'name'>) => quoteQualified(schema, name)

/** The basis of a view is known without its text. */
export function placeTwin({ snapshot, moves }: TwinContext, shown: Shown): TwinPlace {
  const { relation, masks } = shown
  const place = { schema: snapshot.schemas.get(relation.schema)?.twins ?? '', name: relation.name }
  const options = [isBarrier(relation), relation.isSecurityInvoker, place.schema, place.name]
  const hash = (value: unknown) =>
    createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)
  if (shown.by === 'itself') {
    // The recorded role, whatever its name; else a name made from OIDs.
    const { role, name } = snapshot.twinOwners.find(({ served }) => served === relation.owner) ?? {
      role: null,
      name: twinOwnerName(snapshot.server.database, relation.owner),
    }
    const basis = hash([writeTableSelect(shown), options, relation.owner])
    return { ...place, owner: name, ownerOid: role, basis }
  }
  const own = [...masks].map(([number, mask]) => [number, expressionOf(columnOf(relation, number), mask)])
  const columns = relation.columns.map((column) => [column.name, column.type])
  const moved = [...listRead(snapshot, relation)].map((one) => [one.oid, moves.get(nameOf(one)) ?? null])
  const basis = hash([relation.rule, columns, own, options, relation.owner, moved])
  return { ...place, owner: relation.ownerName, ownerOid: relation.owner, basis }
}

const listRead = ({ relations }: Snapshot, { reads }: Relation) =>
  reads.flatMap((oid) => relations.get(oid) ?? []).sort((one, other) => one.oid - other.oid)

/** Fourth pass: the twin of a relation. Null: its definition has none. */
export function writeTwin(
  context: TwinContext,
  shown: Shown,
  place: TwinPlace,
  before: readonly Privilege[],
): TwinPlan | null {
  const { snapshot, moves } = context
  const { relation, masks, by } = shown
  const isOwn = by === 'itself'
  const select = isOwn ? writeTableSelect(shown) : writeViewSelect(context, shown)
  if (select === null) return null
  moves.set(nameOf(relation), nameOf(place))
  const read = isOwn ? [] : listRead(snapshot, relation).filter((one) => moves.has(nameOf(one)))
  return {
    ...place,
    by: isOwn ? 'itself' : 'definition',
    types: isOwn
      ? relation.columns.map(({ number, type, baseType }) => (masks.has(number) ? baseType : type))
      : null,
    select,
    over: [...new Set(read.map(({ schema }) => snapshot.schemas.get(schema)?.twins ?? ''))],
    grants: writeTwinAcl(relation, before, isOwn ? noRole : relation.owner),
  }
}

export const isBarrier = (relation: Relation) => relation.isSecurityBarrier || relation.kind !== 'view'

/**
 * `SELECT people.id, (CASE WHEN …)::text FROM public.people AS people`: row policies may name the table by its own
 * name.
 */
function writeTableSelect(shown: Shown): string {
  const { relation } = shown
  return `SELECT ${selectList(shown, relation.name)} FROM ${nameOf(relation)} AS ${quoteIdentifier(relation.name)}`
}

/** Empty until the text of the view is needed. PostgreSQL knows no ONLY of a view: such a definition has no twin. */
function writeViewSelect({ definitions, moves }: TwinContext, shown: Shown): string | null {
  const { relation, masks } = shown
  const definition = definitions.get(relation.oid)
  if (!definition) return definition === undefined ? '' : null
  let readsOnly = false
  try {
    const moved = moveRelations(definition.replace(/;\s*$/, ''), (schema, name, isOnly) => {
      const to = schema === undefined ? undefined : moves.get(quoteQualified(schema, name))
      readsOnly ||= isOnly && to !== undefined
      return to
    })
    if (readsOnly || masks.size === 0) return readsOnly ? null : moved
    const columns = relation.columns.map(({ name }) => quoteIdentifier(name)).join(', ')
    return `SELECT ${selectList(shown, 't')} FROM (${moved}) AS t (${columns})`
  } catch (error) {
    if (error instanceof SqlRefusal) return null
    throw error
  }
}

const selectList = ({ relation, masks }: Shown, alias: string): string =>
  relation.columns
    .map((column) => {
      const mask = masks.get(column.number)
      return mask
        ? expressionOf(column, mask, alias)
        : `${quoteIdentifier(alias)}.${quoteIdentifier(column.name)}`
    })
    .join(', ')

const columnOf = ({ columns }: Relation, number: number) => columns.find((one) => one.number === number)

function expressionOf(column: Column | undefined, mask: MaskOf, alias = 't'): string {
  const expression = column && maskExpression(column, mask, alias)
  if (!expression) throw new Error('a mask was assigned that does not fit its column')
  return expression
}
