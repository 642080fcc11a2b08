import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { Header, Statement } from '../model.ts'
import { Unfit } from '../unfit.ts'

/** A bound database that wants its masks in place, and what the service knows of the others. */
export interface Claimant {
  readonly databaseId: string
  /** The name of another bound database; null: this service has none of that id. */
  nameOwner(owner: string): Promise<string | null>
}

/** For an operator who knows that no service keeps these masks any more. */
export function writeRelease(schema: string): string {
  return `UPDATE ${quoteQualified(schema, 'policy')} SET owner = NULL`
}

/**
 * Claims the masks of a database for one resource: two resources bound to it would keep removing each other's masks.
 * Every resource but the owner fails before any change. Returns the steps that record the claim; none if there is
 * nothing to record.
 */
export async function claim(
  sql: Sql,
  schema: string,
  guard: Header | null,
  claimant: Claimant | undefined,
  hasRules: boolean,
): Promise<readonly Statement[]> {
  // Tables and roles are recorded by OID. A dump does not keep those: grants would go to other roles on other tables.
  if (guard?.isRestored) throw new Unfit(await describeRestored(sql, schema))
  if (guard?.owner && guard.madeHere) {
    if (guard.owner === claimant?.databaseId) return []
    throw new Unfit(describeOwner(await claimant?.nameOwner(guard.owner), schema))
  }
  if (!claimant) return []
  if (guard && !hasRules && guard.owner !== null && guard.owner !== claimant.databaseId)
    throw new Unfit(
      'This database is a copy of a masked one, and has its masks. They stay until a rule of its own replaces them.',
    )
  return writeOwner(schema, claimant.databaseId)
}

export function describeMasked(name: string): string {
  return `This database is masked as ${name}; one database can be bound once.`
}

function describeOwner(name: string | null | undefined, schema: string): string {
  if (name) return describeMasked(name)
  return [
    'This database is masked by a resource that this service does not have.',
    `If no other service keeps these masks, run: ${writeRelease(schema)};`,
  ].join(' ')
}

/** Schemas of twins came with a dump as well. */
async function describeRestored(sql: Sql, schema: string): Promise<string> {
  const twins = await sql<{ name: string }[]>`
    select n.nspname::text as name from pg_catalog.pg_namespace n
    where exists (select from ${sql(schema)}.relation where twin ->> 'schema' = n.nspname) order by 1`
  const drops = [schema, ...twins.map(({ name }) => name)].map(
    (name) => `DROP SCHEMA ${quoteIdentifier(name)} CASCADE`,
  )
  return [
    'This database was restored from a dump of a masked one. The record that came along is about other tables and',
    'roles, so nothing is changed. Remove it, with what others built on its twins, and masks are made anew:',
    `${drops.join('; ')};`,
  ].join(' ')
}

function writeOwner(schema: string, databaseId: string): Statement[] {
  const sql = `UPDATE ${quoteQualified(schema, 'policy')} SET owner = ${quoteLiteral(databaseId)},
    database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())`
  return [{ sql, why: 'whose masks these are' }]
}
