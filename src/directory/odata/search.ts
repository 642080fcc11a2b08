import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { compileStartsWith } from './compare.ts'
import { both, type Condition, either } from './condition.ts'
import { type Field, requireField } from './field.ts'
import type { ScopeOfRow } from './scope.ts'

const maxLength = 1024
const maxTerms = 20
const term = /\s*"([A-Za-z]+):((?:[^"\\]|\\.)*)"\s*(AND|OR|$)/y

/** Properties that are searched by word; others are searched by prefix. */
const wordProperties = new Set(['displayName', 'description'])

/** A `$search` such as `"displayName:ada" AND "mail:ada@"` as a condition; AND binds tighter than OR. */
export function compileSearch(tx: Query, text: string, row: ScopeOfRow): Condition {
  if (text.length > maxLength) refuse(`is longer than ${maxLength} characters`)
  const alternatives: Condition[][] = [[]]
  let joined = 'AND'
  let count = 0
  term.lastIndex = 0
  while (joined !== '') {
    const match = term.exec(text)
    if (!match) return refuse('must have the form "property:text", joined by AND or OR')
    if (++count > maxTerms) refuse(`has more than ${maxTerms} terms`)
    const [, name = '', value = '', next = ''] = match
    const isSearchable = ({ filter, type: kind }: Field) => filter && kind === 'text'
    const field = requireField(row, '$search', name, isSearchable)
    alternatives.at(-1)?.push(compileTerm(tx, field, row.row, value.replaceAll(/\\(.)/gs, '$1')))
    if (next === 'OR') alternatives.push([])
    joined = next
  }
  return alternatives
    .map((terms) => terms.reduce((left, right) => both(tx, left, right)))
    .reduce((left, right) => either(tx, left, right))
}

function compileTerm(tx: Query, field: Field, row: string, value: string): Condition {
  if (!wordProperties.has(field.name)) return compileStartsWith(tx, { field, row }, value)
  // Words of letters and digits alone have no operators of to_tsquery in them.
  const words = value.split(/[^\p{L}\p{N}]+/u).filter(Boolean)
  if (words.length === 0) refuse('has a term without a word')
  const query = words.map((word) => `${word}:*`).join(' & ')
  const stored = tx.unsafe(field.sqlOf(row))
  return {
    sql: tx`to_tsvector('simple', coalesce(${stored}, '')) @@ to_tsquery('simple', ${query})`,
    access: field.name === 'displayName' ? 'words' : 'walk',
  }
}

function refuse(reason: string): never {
  return fail('InvalidQueryOption', { option: '$search', reason })
}
