import { quoteIdentifier } from '../db/quote.ts'
import type { Relation } from './catalog.ts'
import type { Note } from './plan.ts'

export function noTwin({ schema, name }: Pick<Relation, 'schema' | 'name'>): Note {
  const target = `${schema}.${name}`
  const message = `${target} shows masked data and cannot have a masked twin: its definition is too large, or PostgreSQL refused it over twins (a view that groups by a primary key must name every column in GROUP BY; ONLY, TABLESAMPLE and system columns are for tables). It is closed to all roles that are not exempt.`
  return { code: 'NoTwin', target, message }
}

export function rowSecurity({ schema, name }: Relation, isRestricted: boolean): Note {
  const target = `${schema}.${name}`
  const message = isRestricted
    ? `${target} reads a table whose row policies restrict certain roles. It has no masked twin and is closed to all roles that are not exempt.`
    : `${target} has row policies for certain roles. Through the masked twin only policies for PUBLIC show rows.`
  return { code: 'RowSecurity', target, message }
}

export function notManageable({ schema, name, owner, managed, definition }: Relation): Note {
  const target = `${schema}.${name}`
  const remedy = `GRANT ${quoteIdentifier(owner)} to the role of the binding.`
  if (managed === 'not' && definition === null)
    return {
      code: 'NotMasked',
      target,
      message: `${target} is not masked: it can only be by its owner. ${remedy}`,
    }
  const message = `${target} shows masked data, and only its owner can close it or give it a twin. ${remedy}`
  return { code: 'NotManageable', target, message }
}

/** An entry may be of a role that does not exist yet; it is more often a name that was mistyped. */
export function exemptsNothing(entry: string): Note {
  const message = `The exempt list names ${quoteIdentifier(entry)}, which is neither a role of the database nor a user, application or group of the directory: it exempts no one.`
  return { code: 'ExemptsNothing', target: entry, message }
}
