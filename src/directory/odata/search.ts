import type { Fragment, Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { type Field, type Fields, requireField } from './field.ts'
import { compileStartsWith } from './filter.ts'

const maxLength = 1024
const maxTerms = 20
const term = /\s*"([A-Za-z]+):((?:[^"\\]|\\.)*)"\s*(AND|OR|$)/y

/** Properties that are searched by word; others are searched by prefix. */
const wordProperties = new Set(['displayName', 'description'])

/** A `$search` such as `"displayName:ada" AND "mail:ada@"` as a condition; AND binds tighter than OR. */
export function compileSearch(tx: Query, text: string, fields: Fields, type: string): Fragment {
  if (text.length > maxLength) refuse(`is longer than ${maxLength} characters`)
  const alternatives: Fragment[][] = [[]]
  let joined = 'AND'
  let count = 0
  term.lastIndex = 0
  while (joined !== '') {
    const match = term.exec(text)
    if (!match) return refuse('must have the form "property:text", joined by AND or OR')
    if (++count > maxTerms) refuse(`has more than ${maxTerms} terms`)
    const [, name = '', value = '', next = ''] = match
    const isSearchable = ({ filter, type: kind }: Field) => filter && kind === 'text'
    const field = requireField({ fields, type }, '$search', name, isSearchable)
    alternatives.at(-1)?.push(compileTerm(tx, field, value.replaceAll(/\\(.)/gs, '$1')))
    if (next === 'OR') alternatives.push([])
    joined = next
  }
  return alternatives
    .map((terms) => terms.reduce((left, right) => tx`${left} and ${right}`))
    .reduce((left, right) => tx`((${left}) or (${right}))`)
}

function compileTerm(tx: Query, field: Field, value: string): Fragment {
  if (!wordProperties.has(field.name)) return compileStartsWith(tx, field, value)
  // Words of letters and digits alone have no operators of to_tsquery in them.
  const words = value.split(/[^\p{L}\p{N}]+/u).filter(Boolean)
  if (words.length === 0) refuse('has a term without a word')
  const query = words.map((word) => `${word}:*`).join(' & ')
  return tx`to_tsvector('simple', coalesce(${tx.unsafe(field.sql)}, '')) @@ to_tsquery('simple', ${query})`
}

function refuse(reason: string): never {
  return fail('InvalidQueryOption', { option: '$search', reason })
}
