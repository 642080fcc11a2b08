import type { Fragment, Query } from '../../db/query.ts'
import { isStorableText } from '../entities/storable.ts'
import { operatorOf, type Placed, refuse } from './compare.ts'
import type { Condition } from './condition.ts'
import { type Field, itemFields } from './field.ts'
import type { Comparison, Filter, Literal } from './filter-parser.ts'
import { type FilteredRelation, placeCollection, type Scope, type ScopeOfRow } from './scope.ts'

type Lambda = Extract<Filter, { op: 'any' | 'all' }>
type CompileInner = (inner: Filter, scope: Scope) => Condition

/** `any` and `all` over the items of a collection, or over the objects that a relation leads to. */
export function compileCollection(tx: Query, filter: Lambda, scope: Scope, compile: CompileInner): Condition {
  const place = placeCollection(filter.property, scope)
  const item = `i${scope.variables.size + 1}`
  const { from, within } = 'relation' in place ? openRelation(tx, place, item) : openItems(tx, place, item)
  const { op, variable, inner } = filter
  if (!variable || !inner) return { sql: tx`exists (${from})`, access: 'walk' }
  const variables = new Map(scope.variables).set(variable, within)
  const condition = compile(inner, { root: scope.root, variables, innermost: variable })
  if (op === 'all')
    return { sql: tx`not exists (${from} and (${condition.sql}) is not true)`, access: 'walk' }
  const served = 'relation' in place ? undefined : findElement(tx, place, variable, inner)
  if (served) return served
  const isServed = 'relation' in place && condition.access === 'index' && scope.variables.size === 0
  return { sql: tx`exists (${from} and ${condition.sql})`, access: isServed ? 'index' : 'walk' }
}

interface Opened {
  /** A query of the items, to which conditions can be added. */
  readonly from: Fragment
  readonly within: ScopeOfRow
}

function openRelation(tx: Query, { relation, row }: PlacedRelation, item: string): Opened {
  const { name, kinds, fields } = relation
  return {
    from: selectRelated(tx, relation, row, item),
    within: { row: item, fields, type: kinds.length === 1 ? `vendor.graph.${kinds[0]}` : name },
  }
}

interface PlacedRelation {
  readonly relation: FilteredRelation
  readonly row: string
}

function selectRelated(tx: Query, relation: FilteredRelation, row: string, item: string): Fragment {
  const { table, near, far, kinds } = relation
  const [edge, other, outer] = [tx.unsafe(`${item}_edge`), tx.unsafe(item), tx.unsafe(row)]
  return tx`
    select from ${tx(table)} ${edge}
    join directory_object ${other} on ${other}.tenant_id = ${edge}.tenant_id and ${other}.id = ${edge}.${tx(far)}
    where ${edge}.tenant_id = ${outer}.tenant_id and ${edge}.${tx(near)} = ${outer}.id
      and ${other}.deleted_at is null and ${other}.kind = any(${[...kinds]}::text[])`
}

function openItems(tx: Query, { field, row }: Placed, item: string): Opened {
  const list = tx.unsafe(field.sqlOf(row))
  const alias = tx.unsafe(item)
  const shared = { row: item, type: field.name }
  if (field.type === 'objects')
    return {
      from: tx`select from jsonb_array_elements(${list}) as ${alias} (value) where true`,
      within: { ...shared, fields: itemFields(field.items ?? {}, (name) => `${name}.value`) },
    }
  return {
    from: tx`select from jsonb_array_elements_text(${list}) as ${alias} (value) where true`,
    within: { ...shared, fields: new Map(), self: selfOf(field) },
  }
}

/** An item of a collection of texts, as a field. */
function selfOf({ name }: Field): Field {
  return { name, type: 'text', sqlOf: (row) => `${row}.value`, filter: true, sort: false }
}

/** The form `any(x:x eq 'value')` on a collection whose elements have an index. */
function findElement(
  tx: Query,
  { field, row }: Placed,
  variable: string,
  inner: Filter,
): Condition | undefined {
  const isElement = inner.op === 'eq' && inner.property === variable && typeof inner.value === 'string'
  if (!isElement || field.index !== 'elements' || !isStorableText(String(inner.value))) return undefined
  const elements = tx.unsafe(`lower((${field.sqlOf(row)})::text)::jsonb`)
  const present = tx.unsafe(`${row}.properties ? '${field.name}'`)
  return {
    sql: tx`(${present} and ${elements} @> jsonb_build_array(lower(${String(inner.value)}::text)))`,
    access: 'words',
  }
}

const mostCounted = 100_000

/** `members/$count gt 5`. Objects are counted no further than the comparison needs. */
export function compileCount(
  tx: Query,
  { op, property, value }: { readonly op: Comparison; readonly property: string; readonly value: Literal },
  scope: Scope,
): Condition {
  const collection = property.slice(0, -'/$count'.length)
  const place = placeCollection(collection, scope)
  if (!Number.isInteger(value) || Number(value) < 0 || Number(value) > mostCounted)
    return refuse({ name: property }, `is compared with a whole number from 0 to ${mostCounted}`)
  const count =
    'relation' in place
      ? tx`(select count(*) from (${selectRelated(tx, place.relation, place.row, 'counted')} limit ${Number(value) + 1}) few)`
      : tx`jsonb_array_length(${tx.unsafe(place.field.sqlOf(place.row))})`
  const operator = tx.unsafe(op === 'ne' ? '<>' : operatorOf(op))
  return { sql: tx`${count} ${operator} ${Number(value)}::bigint`, access: 'walk' }
}
