import { createHash } from 'node:crypto'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { viewLimits } from '../../sql/limits.ts'
import { parseStatements } from '../../sql/parse.ts'
import { refuseSql, SqlRefusal } from '../../sql/refusal.ts'
import type { Column, Definition, MaskOf, Oid, Privilege, Relation, Snapshot } from '../model.ts'
import { twinOwnerName } from '../names.ts'
import { maskExpression } from './expressions.ts'
import { followHidden, type Read, type Shows } from './follow-hidden.ts'
import type { Shown } from './follow-views.ts'
import { writeTwinAcl } from './grants.ts'
import type { TwinPlan } from './model.ts'
import { moveRelations } from './move-relations.ts'

/** What a turn needs to know to write twins. */
export interface TwinContext {
  readonly snapshot: Snapshot
  /** Of views whose twins have to be made; `null`: PostgreSQL did not print it in time. */
  readonly definitions: ReadonlyMap<Oid, Definition | null>
  /** Twins so far, by the quoted name of their relations: `public.people`. */
  readonly moves: Map<string, Move>
}

interface Move extends Read {
  /** `masked_public.people` */
  readonly to: string
  readonly shows: Shows | null
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
  const moved = listRead(snapshot, relation).map((one) => {
    const { to, shows } = moves.get(nameOf(one)) ?? {}
    return [one.oid, to, shows, one.hasRowSecurity]
  })
  const basis = hash([relation.rule, columns, own, options, relation.owner, relation.readSchemas, moved])
  return { ...place, owner: relation.ownerName, ownerOid: relation.owner, basis }
}

const listRead = ({ relations }: Snapshot, { reads }: Relation) =>
  reads.flatMap((oid) => relations.get(oid) ?? []).sort((one, other) => one.oid - other.oid)

/** Fourth pass: the twin of a relation. A string: why it has none. `kept`: the basis of one that stays as it is. */
export function writeTwin(
  context: TwinContext,
  shown: Shown,
  place: TwinPlace,
  before: readonly Privilege[],
  kept: string | null,
): TwinPlan | string {
  const { snapshot, moves } = context
  const { relation, masks, by } = shown
  const isOwn = by === 'itself'
  const written = isOwn
    ? { select: writeTableSelect(shown), shows: [...masks.keys()] }
    : kept === null
      ? writeView(context, shown)
      : { select: '', shows: recallShows(kept) }
  if (typeof written === 'string') return written
  const { shows } = written
  const own = shows === 'decided' ? [] : (shows ?? [])
  const hidden: Move['hidden'] = new Map(
    relation.columns.flatMap(({ number, name }): [string, 'hidden' | 'mixed'][] => {
      if (masks.has(number) || own.includes(number)) return [[name, 'hidden']]
      return own.includes(-number) ? [[name, 'mixed']] : []
    }),
  )
  const columns = relation.columns.map(({ name }) => name)
  moves.set(nameOf(relation), { to: nameOf(place), shows, columns, hidden })
  const read = isOwn ? [] : listRead(snapshot, relation).filter((one) => moves.has(nameOf(one)))
  return {
    ...place,
    ...written,
    basis: isOwn ? place.basis : `${place.basis}:${shows ?? ''}`,
    by: isOwn ? 'itself' : 'definition',
    types: isOwn
      ? relation.columns.map(({ number, type, baseType }) => (masks.has(number) ? baseType : type))
      : null,
    over: [...new Set(read.map(({ schema }) => snapshot.schemas.get(schema)?.twins ?? ''))],
    grants: writeTwinAcl(relation, before, isOwn ? noRole : relation.owner),
  }
}

function recallShows(basis: string): Shows {
  const [, shows = ''] = basis.split(':')
  return shows === 'decided' ? shows : shows.split(',').filter(Boolean).map(Number)
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

export const refused =
  'its definition is too long, PostgreSQL refuses it over twins, or it would use other objects than the view does'
const unread = 'its definition could not be read in time'
const tooEarly = [
  'masked columns, row policies or a refresh choose what it shows: its twin reads as its reader, since PostgreSQL 15.',
  'Let roles read the twins of its tables instead',
].join(' ')

/** Empty until the text of the view is needed. */
function writeView(
  { snapshot, definitions, moves }: TwinContext,
  shown: Shown,
): Pick<TwinPlan, 'select' | 'shows'> | string {
  const { relation, masks } = shown
  const definition = definitions.get(relation.oid)
  if (definition === undefined) return { select: '', shows: null }
  if (definition === null) return unread
  const text = definition.text.replace(/;\s*$/, '')
  const moved = moveView(text, definition.returnsSets, moves)
  if (typeof moved === 'string') return moved
  const isDecided = (one: Relation) =>
    moves.has(nameOf(one)) && (one.hasRowSecurity || moves.get(nameOf(one))?.shows === 'decided')
  // A materialized view has the rows of its last refresh, and its owner reads past row policies.
  const isOther = relation.kind === 'materialized view' || listRead(snapshot, relation).some(isDecided)
  const shows = isOther ? 'decided' : moved.shows
  if (shows === 'decided' && snapshot.server.version < 150_000) return tooEarly
  if (shows !== 'decided' && masks.size === 0) return { select: moved.text, shows }
  const columns = relation.columns.map(({ name }) => quoteIdentifier(name)).join(', ')
  const select = `SELECT ${selectList(shown, 't')} FROM (${moved.text}) AS t (${columns})`
  // A reader who may read the relations may lack their schemas, of which PostgreSQL asks readers of a view for none.
  const mayUse = relation.readSchemas.map((oid) => `has_schema_privilege(${oid}::oid, 'USAGE')`)
  return { select: shows === 'decided' ? `${select} WHERE ${mayUse.join(' AND ')}` : select, shows }
}

/** The definition over twins, and what it shows of hidden columns. A string: why it cannot be had. */
function moveView(definition: string, returnsSets: boolean, moves: TwinContext['moves']) {
  const find = (schema: string | undefined, name: string) =>
    schema === undefined ? undefined : moves.get(quoteQualified(schema, name))
  try {
    const statements = parseStatements(definition, viewLimits)
    const choose = (schema: string | undefined, name: string, isOnly: boolean) => {
      const to = find(schema, name)?.to
      // PostgreSQL knows no ONLY of a view.
      return isOnly && to !== undefined ? refuseSql('NotSql') : to
    }
    return {
      text: moveRelations(definition, choose, statements),
      shows: followHidden(
        statements[0] ?? {},
        ({ schemaname, relname }) => find(schemaname, relname),
        returnsSets,
      ),
    }
  } catch (error) {
    if (!(error instanceof SqlRefusal)) throw error
    return error.reason === 'ParserLost' ? unread : refused
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
