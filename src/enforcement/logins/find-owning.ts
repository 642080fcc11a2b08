import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { isRecordedExempt } from '../guard/recorded-exempt.ts'
import type { Note } from '../plan.ts'
import { findOwned } from '../preflight/find-owned-tables.ts'
import type { WantedLogin } from './diff-logins.ts'
import type { ObservedLogin } from './observe-logins.ts'
import type { LoginSource } from './ports.ts'

const mostListed = 3

/**
 * Notes about login roles that own masked tables, parts of these or materialized views over these, by principal. No mask hides a table
 * from its owner. Principals that are exempt, themselves or by a mapped role, may see the values.
 */
export async function findOwning(
  sql: Sql,
  databaseId: string,
  source: Pick<LoginSource, 'readPolicy'>,
  logins: readonly ObservedLogin[],
  wanted: ReadonlyMap<string, WantedLogin>,
): Promise<ReadonlyMap<string, Note>> {
  const owners = logins.filter(({ mark, ownsRelations }) => ownsRelations && wanted.has(mark.principalId))
  if (owners.length === 0) return new Map()
  const { rules, exemptPrincipals } = await source.readPolicy(databaseId)
  const masked = owners.filter(({ mark }) => !exemptPrincipals.includes(mark.principalId))
  if (rules.length === 0 || masked.length === 0) return new Map()
  const owned = await findOwned(
    sql,
    masked.map(({ oid }) => oid),
    rules,
  )
  const found = new Map<string, Note>()
  for (const { oid, name, mark } of masked) {
    const tables = owned.get(oid) ?? []
    if (tables.length === 0 || (await hasExempt(sql, wanted.get(mark.principalId)?.memberOf ?? []))) continue
    found.set(mark.principalId, describeOwner(name, tables))
  }
  return found
}

/** By the records of the last turn: a role that the list names counts once a turn has judged its entry. */
async function hasExempt(sql: Sql, roles: readonly string[]): Promise<boolean> {
  const rows = await sql<{ oid: number }[]>`
    select oid::int8 as oid from pg_catalog.pg_roles where rolname = any(${roles}::text[]::name[])`
  for (const { oid } of rows) if (await isRecordedExempt(sql, oid)) return true
  return false
}

function describeOwner(name: string, tables: readonly string[]): Note {
  const more = tables.length > mostListed ? ` and ${tables.length - mostListed} more` : ''
  const message = `${quoteIdentifier(name)} owns masked tables: ${tables.slice(0, mostListed).join(', ')}${more}. An owner sees raw values, so logins as it are refused until another role owns them. Run ALTER TABLE … OWNER TO … for each, or REASSIGN OWNED BY ${quoteIdentifier(name)} TO … for all that it owns; or exempt the principal.`
  return { code: 'LoginRole', target: name, message }
}
