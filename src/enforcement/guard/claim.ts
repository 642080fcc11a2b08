import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { guardSchema, isTwinOwnerName } from '../names.ts'
import type { Step } from '../plan.ts'
import { Unfit } from '../states/explain-failure.ts'

/** The resource that the masks of a database belong to. */
interface GuardOwner {
  /** Null: they are older than this mark. */
  readonly owner: string | null
  /** False: this database is a copy of the one they were made in. */
  readonly madeHere: boolean
  /** The tables of the guard are not those that its record was written in: it came with a dump. */
  readonly isRestored: boolean
}

/** A bound database that wants its masks in place, and what the service knows of the others. */
export interface Claimant {
  readonly databaseId: string
  /** The name of another bound database; null: this service has none of that id. */
  nameOwner(owner: string): Promise<string | null>
  /** True when another bound database with rules has the same address, or just the same name. */
  hasRival(by: 'address' | 'name'): Promise<boolean>
}

const policyTable = `${quoteIdentifier(guardSchema)}.policy`

/** For an operator who knows that no service keeps these masks any more. */
export const release = `UPDATE ${policyTable} SET owner = NULL`

/** Null: the database has no masks, or none that we may read about. */
export async function readGuardOwner(sql: Sql): Promise<GuardOwner | null> {
  const [found] = await sql`
    select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${guardSchema} and c.relname = 'policy' and pg_catalog.has_schema_privilege(n.oid, 'USAGE')
      and pg_catalog.has_table_privilege(c.oid, 'SELECT')`
  if (!found) return null
  // As JSON, because guards that are older than the mark have no columns for it.
  const [row] = await sql<GuardOwner[]>`
    select pg_catalog.to_jsonb(p) ->> 'owner' as owner,
      coalesce(pg_catalog.to_jsonb(p) ->> 'database' = d.oid::text, false) as "madeHere",
      coalesce(pg_catalog.to_jsonb(p) ->> 'self' <> pg_catalog.to_regclass(${`${guardSchema}.relation`})::oid::text, false)
        as "isRestored"
    from ${sql(guardSchema)}.policy p, pg_catalog.pg_database d where d.datname = current_database()`
  return row ?? null
}

/**
 * Claims the masks of a database for one resource: two resources bound to it would keep removing each other's masks.
 * Every resource but the owner fails before any change. Returns the steps that record the claim; none if there is
 * nothing to record.
 */
export async function claim(
  sql: Sql,
  claimant: Claimant | undefined,
  hasRules: boolean,
): Promise<readonly Step[]> {
  const guard = await readGuardOwner(sql)
  // Tables and roles are recorded by OID. A dump does not keep those: grants would go to other roles on other tables.
  if (guard?.isRestored) throw new Unfit(describeRestored(await listTwinSchemas(sql)))
  if (guard?.owner && guard.madeHere) {
    if (guard.owner === claimant?.databaseId) return []
    throw new Unfit(describeOwner(await claimant?.nameOwner(guard.owner)))
  }
  if (!claimant) return []
  if (guard && !hasRules && guard.owner !== null && guard.owner !== claimant.databaseId)
    throw new Unfit(
      'This database is a copy of one that is masked, and has its masks. They stay until a rule of its own replaces them.',
    )
  if (guard && (await claimant.hasRival(hasRules ? 'address' : 'name')))
    throw new Unfit(
      'This database has masks, and rules of another database of this service may have made them; one database can be bound once. Disable the policy of the one that is not meant, and unbind it.',
    )
  return writeOwner(claimant.databaseId)
}

function describeOwner(name: string | null | undefined): string {
  if (name) return `This database is masked as ${name}; one database can be bound once.`
  return `This database is masked by a resource that this service does not have. If no other service keeps these masks, run: ${release};`
}

/** Schemas of twins that came with a dump, each with its owner. */
async function listTwinSchemas(sql: Sql): Promise<{ name: string; owner: string }[]> {
  return await sql<{ name: string; owner: string }[]>`
    select n.nspname::text as name, o.rolname::text as owner from pg_catalog.pg_namespace n
    join pg_catalog.pg_roles o on o.oid = n.nspowner
    where exists (select 1 from ${sql(guardSchema)}.relation where twin ->> 'schema' = n.nspname) order by 1`
}

function describeRestored(schemas: readonly { name: string; owner: string }[]): string {
  const owners = new Set(schemas.map(({ owner }) => owner).filter(isTwinOwnerName))
  const statements = [
    `DROP SCHEMA ${quoteIdentifier(guardSchema)} CASCADE`,
    ...schemas.map(({ name }) => `DROP SCHEMA ${quoteIdentifier(name)} CASCADE`),
    ...[...owners].map((owner) => `DROP OWNED BY ${quoteIdentifier(owner)}`),
  ]
  return `This database was restored from a dump of a masked one. The record that came along is about other tables and roles, so nothing is changed. Remove it, and masks are made anew: ${statements.join('; ')};`
}

function writeOwner(databaseId: string): Step[] {
  return [
    `ALTER TABLE ${policyTable} ADD COLUMN IF NOT EXISTS owner uuid, ADD COLUMN IF NOT EXISTS database oid`,
    `UPDATE ${policyTable} SET owner = ${quoteLiteral(databaseId)},
      database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())`,
  ].map((sql) => ({ sql, why: 'whose masks these are' }))
}
