import { createHash } from 'node:crypto'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { SqlRefusal } from '../../sql/refusal.ts'
import type { Masks, Oid, Privilege, Relation, Snapshot } from '../model.ts'
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

/** The owner of a twin over a table has no grants from before. */
const noRole = -1

const hash = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)

export function nameTwin(
  { schemas }: Pick<Snapshot, 'schemas'>,
  relation: Pick<Relation, 'schema' | 'name'>,
) {
  const schema = schemas.find(({ name }) => name === relation.schema)
  return { schema: schema?.twins ?? '', name: relation.name }
}

/** The recorded role, whatever its name; else a name made from OIDs. */
export function nameTwinOwner(
  { twinOwners, server }: Pick<Snapshot, 'twinOwners' | 'server'>,
  served: Oid,
): string {
  return twinOwners.find((one) => one.served === served)?.name ?? twinOwnerName(server.database, served)
}

/** Empty until the text of a view is needed: a twin that was made from the same is kept. */
export function basisOf(
  { snapshot, moves }: TwinContext,
  relation: Relation,
  masks: Masks,
  shown: Shown,
): string {
  const { schema, name } = nameTwin(snapshot, relation)
  const own = [...masks].map(([number, mask]) => [number, expressionOf(relation, number, mask)])
  const options = [isBarrier(relation), relation.isSecurityInvoker, schema, name]
  if (shown.by === 'itself') return hash([writeTableSelect(relation, masks), options, relation.owner])
  const columns = relation.columns.map((column) => [column.name, column.type])
  const reads = snapshot.relations.filter(({ oid }) => relation.reads.includes(oid))
  const moved = reads.map(({ oid, schema: of, name: each }) => [
    oid,
    moves.get(quoteQualified(of, each)) ?? null,
  ])
  return hash([relation.rule, columns, own, options, relation.owner, moved])
}

/** Fourth pass: the twin of a relation. A string: the reason for which it has none. */
export function writeTwin(
  context: TwinContext,
  relation: Relation,
  masks: Masks,
  shown: Shown,
  before: readonly Privilege[],
): TwinPlan | string {
  const { snapshot, moves } = context
  const place = nameTwin(snapshot, relation)
  const isOwn = shown.by === 'itself'
  const owner = isOwn ? nameTwinOwner(snapshot, relation.owner) : relation.ownerName
  const select = isOwn ? writeTableSelect(relation, masks) : writeViewSelect(context, relation, masks)
  if (select === null) return 'its definition is too long, or cannot be made over twins'
  moves.set(quoteQualified(relation.schema, relation.name), quoteQualified(place.schema, place.name))
  return {
    ...place,
    owner,
    columns: relation.columns.map(({ name }) => name),
    types: isOwn
      ? relation.columns.map(({ number, type, baseType }) => (masks.has(number) ? baseType : type))
      : null,
    select,
    isSecurityBarrier: isBarrier(relation),
    isSecurityInvoker: relation.isSecurityInvoker,
    by: isOwn ? 'itself' : 'definition',
    over: isOwn ? [] : listOver(context, relation),
    basis: basisOf(context, relation, masks, shown),
    grants: writeTwinAcl(relation, before, isOwn ? noRole : relation.owner),
  }
}

/** Schemas of the twins that the twin of a view reads. */
function listOver({ snapshot, moves }: TwinContext, { reads }: Relation): string[] {
  const read = snapshot.relations.filter(
    (one) => reads.includes(one.oid) && moves.has(quoteQualified(one.schema, one.name)),
  )
  return [...new Set(read.map((one) => nameTwin(snapshot, one).schema))]
}

const isBarrier = (relation: Relation) => relation.isSecurityBarrier || relation.kind !== 'view'

/**
 * `SELECT people.id, (CASE WHEN …)::text FROM public.people AS people`: row policies may name the table by its own
 * name.
 */
function writeTableSelect(relation: Relation, masks: Masks): string {
  const from = quoteQualified(relation.schema, relation.name)
  return `SELECT ${selectList(relation, masks, relation.name)} FROM ${from} AS ${quoteIdentifier(relation.name)}`
}

function writeViewSelect(
  { definitions, moves }: TwinContext,
  relation: Relation,
  masks: Masks,
): string | null {
  const definition = definitions.get(relation.oid)
  if (definition === undefined) return ''
  const moved = definition === null ? null : move(definition.replace(/;\s*$/, ''), moves)
  if (moved === null || masks.size === 0) return moved
  const columns = relation.columns.map(({ name }) => quoteIdentifier(name)).join(', ')
  return `SELECT ${selectList(relation, masks, 't')} FROM (${moved}) AS t (${columns})`
}

/** PostgreSQL knows no ONLY of a view, so a definition with it has no twin. */
function move(definition: string, moves: ReadonlyMap<string, string>): string | null {
  let readsOnly = false
  try {
    const moved = moveRelations(definition, (schema, name, isOnly) => {
      const to = schema === undefined ? undefined : moves.get(quoteQualified(schema, name))
      readsOnly ||= isOnly && to !== undefined
      return to
    })
    return readsOnly ? null : moved
  } catch (error) {
    if (error instanceof SqlRefusal) return null
    throw error
  }
}

function selectList(relation: Relation, masks: Masks, alias: string): string {
  return relation.columns
    .map((column) => {
      const mask = masks.get(column.number)
      return mask
        ? expressionOf(relation, column.number, mask, alias)
        : `${quoteIdentifier(alias)}.${quoteIdentifier(column.name)}`
    })
    .join(', ')
}

function expressionOf(
  relation: Relation,
  number: number,
  mask: Parameters<typeof maskExpression>[1],
  alias = 't',
): string {
  const column = relation.columns.find((each) => each.number === number)
  const expression = column && maskExpression(column, mask, alias)
  if (!expression) throw new Error('a mask was assigned that does not fit its column')
  return expression
}
