import type { Sql } from '../../db/sql.ts'
import { guardSchema } from '../names.ts'

/** The schema of the controller's records in a masked database, or the one that it would have. */
export interface GuardPlace {
  readonly schema: string
  readonly isThere: boolean
}

/**
 * Selects the schema of our records. Any role that may create schemas can take its name first, so a schema of another
 * role is not ours, whatever its name: ours belongs to the role of the binding or to a superuser.
 */
export function selectGuard(sql: Sql) {
  return sql`
    select n.oid, n.nspname, n.nspowner from pg_catalog.pg_namespace n
    join pg_catalog.pg_roles o on o.oid = n.nspowner and (o.rolname = current_user or o.rolsuper)
    where pg_catalog.starts_with(n.nspname, ${guardSchema}) and exists (
      select from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relname = 'relation')
    order by n.oid limit 1`
}

/** Null: the database has no records of ours, or none that the role of the binding may read. */
export async function findGuard(sql: Sql): Promise<string | null> {
  const [row] = await sql<{ schema: string }[]>`
    select g.nspname::text as schema from (${selectGuard(sql)}) g
    join pg_catalog.pg_class c on c.relnamespace = g.oid and c.relname = 'policy'
    where pg_catalog.has_schema_privilege(g.oid, 'USAGE') and pg_catalog.has_table_privilege(c.oid, 'SELECT')`
  return row?.schema ?? null
}

/** A schema of another role that has a name which we would choose. */
export interface Namesake {
  readonly name: string
  /** The OID of the role that owns it. */
  readonly owner: number
  readonly comment: string | null
  /** Our tables are in it: an operator gave the schema to another role. No other role can place them there. */
  readonly holdsOurs: boolean
}

/** Signs a text with a key of the service. */
export type SignGuard = (text: string) => string

const markPrefix = 'masquerade guard '

/** The resource that records are of, and what signs them. */
export interface GuardKeys {
  readonly databaseId: string
  readonly sign: SignGuard
}

/**
 * The comment that tells our records from a schema of the same name. Every role can read and copy it, so it is signed for the owner of
 * the schema and for the resource: it is worth nothing on a schema of another role, or in a database of another resource.
 */
export function writeGuardMark(owner: number, { databaseId, sign }: GuardKeys): string {
  return `${markPrefix}${sign(`guard of role ${owner} ${databaseId}`)}`
}

/** As release 0.1 writes it, for a role in whichever database. */
export function writeFormerMark(owner: number, { sign }: GuardKeys): string {
  return `${markPrefix}${sign(`guard of role ${owner}`)}`
}

/**
 * Our records, in a schema of another role or of a former role of the binding; undefined: the namesakes are not ours. `wasMasked`
 * says whether the service masked this database: a role that binds another one has a former mark from there.
 */
export async function findForeignGuard(
  namesakes: readonly Namesake[],
  keys: GuardKeys | undefined,
  wasMasked: () => Promise<boolean>,
): Promise<Namesake | undefined> {
  const ours = namesakes.find(
    ({ owner, comment, holdsOurs }) => holdsOurs || (keys && comment === writeGuardMark(owner, keys)),
  )
  if (ours || !keys) return ours
  const former = namesakes.find(({ owner, comment }) => comment === writeFormerMark(owner, keys))
  return former && (await wasMasked()) ? former : undefined
}

/** The first name that no schema has: the same on every node, so that the second to create it fails and looks again. */
export function chooseGuardName(namesakes: readonly Namesake[]): string {
  const taken = new Set(namesakes.map(({ name }) => name))
  let name = guardSchema
  for (let at = 1; taken.has(name); at++) name = `${guardSchema}_${at}`
  return name
}
