import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { SignOtherwise } from '../logins/mark.ts'
import { twinOwnerPrefix } from '../names.ts'
import type { Step } from '../plan.ts'
import { Unfit } from '../states/explain-failure.ts'
import { droppedWith, writeDrop } from '../twins/dropped-with.ts'
import { ownsOthers } from '../twins/read-departure.ts'
import type { TwinKeys } from '../twins/recognise-twin-roles.ts'
import type { SignGuard } from './find-guard.ts'
import type { GuardRecord } from './read-record.ts'

/** A bound database that wants its masks in place, and what the service knows of the others. */
export interface Claimant {
  readonly databaseId: string
  /** The name of another bound database; null: this service has none of that id. */
  nameOwner(owner: string): Promise<string | null>
  /** True when another bound database with rules has the same address, or just the same name. */
  hasRival(by: 'address' | 'name'): Promise<boolean>
  /** Signs the records, which tells them from a schema that another role made under their name. */
  readonly sign?: SignGuard
  /** With the other keys that the service has. */
  readonly signOtherwise?: SignOtherwise
}

/** Undefined: the claimant signs nothing. */
export function keysOf({ databaseId, sign, signOtherwise }: Claimant): TwinKeys | undefined {
  return sign && { databaseId, sign, ...(signOtherwise && { signOtherwise }) }
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
  guard: GuardRecord | null,
  claimant: Claimant | undefined,
  hasRules: boolean,
): Promise<readonly Step[]> {
  // Tables and roles are recorded by OID. A dump does not keep those: grants would go to other roles on other tables.
  if (guard?.isRestored)
    throw new Unfit(describeRestored(schema, await listTwinSchemas(sql, schema), await listReaders(sql)))
  if (guard?.owner && guard.madeHere) {
    if (guard.owner === claimant?.databaseId) return []
    throw new Unfit(describeOwner(await claimant?.nameOwner(guard.owner), schema))
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
  return writeOwner(schema, claimant.databaseId)
}

export function describeMasked(name: string): string {
  return `This database is masked as ${name}; one database can be bound once.`
}

function describeOwner(name: string | null | undefined, schema: string): string {
  if (name) return describeMasked(name)
  return `This database is masked by a resource that this service does not have. If no other service keeps these masks, run: ${writeRelease(schema)};`
}

interface TwinSchema {
  readonly name: string
  /** What a drop with CASCADE would drop beside twins. */
  readonly others: readonly string[]
}

/** Schemas of twins that came with a dump. */
async function listTwinSchemas(sql: Sql, schema: string): Promise<TwinSchema[]> {
  const twins = sql`
    select c.oid from ${sql(schema)}.relation g join pg_catalog.pg_namespace s on s.nspname = g.twin ->> 'schema'
    join pg_catalog.pg_class c on c.relnamespace = s.oid and c.relname = g.twin ->> 'name' and c.relkind = 'v'`
  return await sql<TwinSchema[]>`
    select n.nspname::text as name, ${droppedWith(sql, twins)} as others from pg_catalog.pg_namespace n
    where exists (select 1 from ${sql(schema)}.relation where twin ->> 'schema' = n.nspname) order by 1`
}

/** Owners of twins that own or were granted something here, without roles of others that have such a name. */
async function listReaders(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select r.rolname::text as name from pg_catalog.pg_roles r
    where pg_catalog.starts_with(r.rolname::text, ${twinOwnerPrefix}) and exists (select 1 from pg_catalog.pg_shdepend d
      where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = r.oid
        and d.dbid = (select oid from pg_catalog.pg_database where datname = current_database()))
      and not ${ownsOthers(sql)}
    order by 1`
  return rows.map(({ name }) => name)
}

function describeRestored(
  schema: string,
  schemas: readonly TwinSchema[],
  readers: readonly string[],
): string {
  const isShared = ({ others }: TwinSchema) => others.length > 0
  const write = ({ name, others }: TwinSchema) => writeDrop(name, others)
  const statements = [
    // PostgreSQL refuses these first, before anything is dropped.
    ...schemas.filter(isShared).map(write),
    `DROP SCHEMA ${quoteIdentifier(schema)} CASCADE`,
    ...schemas.filter((one) => !isShared(one)).map(write),
    ...readers.map((owner) => `DROP OWNED BY ${quoteIdentifier(owner)}`),
  ]
  const warnings = schemas
    .filter(isShared)
    .map(
      ({ name, others }) =>
        ` With the twins in ${quoteIdentifier(name)} these objects of others would go: ${others.join(', ')}. Change or drop them first.`,
    )
  return `This database was restored from a dump of a masked one. The record that came along is about other tables and roles, so nothing is changed.${warnings.join('')} Remove it, and masks are made anew: ${statements.join('; ')};`
}

function writeOwner(schema: string, databaseId: string): Step[] {
  const policyTable = quoteQualified(schema, 'policy')
  return [
    `ALTER TABLE ${policyTable} ADD COLUMN IF NOT EXISTS owner uuid, ADD COLUMN IF NOT EXISTS database oid`,
    `UPDATE ${policyTable} SET owner = ${quoteLiteral(databaseId)},
      database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())`,
  ].map((sql) => ({ sql, why: 'whose masks these are' }))
}
