import type { Query } from '../../db/query.ts'
import { compileCollection, compileCount } from './collections.ts'
import { compileComparison, compileEndsWith, compileStartsWith, type Placed } from './compare.ts'
import { both, type Condition, either } from './condition.ts'
import { type Filter, type Literal, parseFilter } from './filter-parser.ts'
import { placeField, type Scope, type ScopeOfRow } from './scope.ts'

/**
 * A `$filter` as a condition in SQL: values are parameters, columns come from our own tables.
 * Never await or return the result from an async function: awaiting a fragment would run it.
 */
export function compileFilter(tx: Query, text: string, row: ScopeOfRow): Condition {
  return compile(tx, parseFilter(text), { root: row, variables: new Map() })
}

function compile(tx: Query, filter: Filter, scope: Scope): Condition {
  switch (filter.op) {
    case 'and':
      return both(tx, compile(tx, filter.left, scope), compile(tx, filter.right, scope))
    case 'or':
      return either(tx, compile(tx, filter.left, scope), compile(tx, filter.right, scope))
    case 'not':
      return { sql: tx`(${compile(tx, filter.inner, scope).sql}) is not true`, access: 'walk' }
    case 'in':
      return compileIn(tx, placeField(filter.property, scope), filter.values)
    case 'startswith':
      return compileStartsWith(tx, placeField(filter.property, scope), filter.value)
    case 'endswith':
      return compileEndsWith(tx, placeField(filter.property, scope), filter.value)
    case 'any':
    case 'all':
      return compileCollection(tx, filter, scope, (inner, within) => compile(tx, inner, within))
    default:
      return filter.property.endsWith('/$count')
        ? compileCount(tx, filter, scope)
        : compileComparison(tx, placeField(filter.property, scope), filter.op, filter.value)
  }
}

function compileIn(tx: Query, placed: Placed, values: readonly Literal[]): Condition {
  return values
    .map((value) => compileComparison(tx, placed, 'eq', value))
    .reduce((left, right) => either(tx, left, right))
}
