import type { Sql } from '../../db/sql.ts'
import type { NamedRole, TwinRole } from '../catalog.ts'
import { findGuard } from '../guard/find-guard.ts'
import { readRecord } from '../guard/read-record.ts'
import type { Sign, SignOtherwise } from '../logins/mark.ts'
import { nameAttempts, shadowPrefix } from '../names.ts'
import { readTwinRoles, type TwinOwnerFacts } from './choose-twin-owner.ts'

/** What marks of owners of twins are signed with, and for which resource. */
export interface TwinKeys {
  readonly databaseId: string
  readonly sign: Sign
  readonly signOtherwise?: SignOtherwise
}

/** Turns of no resource, as in tests, sign nothing: any role that may write comments could write their marks. */
export const unsigned: TwinKeys = { databaseId: '', sign: (text) => text }

const markPrefix = 'masquerade twins '

/**
 * The comment that marks an owner of twins as ours. Every role can read comments, and a role that may create roles can write them. So the
 * mark is signed for the OID of the role, and for the resource, as a role of another server may have the same OID.
 */
export function writeTwinMark(oid: number, { databaseId, sign }: TwinKeys): string {
  return markPrefix + sign(signedText(oid, databaseId))
}

function signedText(oid: number, databaseId: string): string {
  return `owner of twins ${oid} ${databaseId}`
}

/** Undefined: the comment is no mark of ours. */
function readTwinMark({ oid, comment }: NamedRole, keys: TwinKeys): 'current' | 'old' | undefined {
  if (!comment?.startsWith(markPrefix)) return undefined
  if (comment === writeTwinMark(oid, keys)) return 'current'
  const others = keys.signOtherwise?.(signedText(oid, keys.databaseId))
  const signature = comment.slice(markPrefix.length)
  if (others?.newer.includes(signature)) return 'current'
  return others?.older.includes(signature) ? 'old' : undefined
}

/**
 * Tells owners of twins that are ours from roles that others created or renamed. Roles without a mark, as of an earlier release, are known
 * by the record: `keepers` own the twins of recorded tables, or the schemas of these. One that owns code, or that another role can act as
 * or give itself, stays out. `keys`: null for a look that has none, where memberships tell of roles that
 * the binding can have created.
 */
export async function recognise(
  sql: Sql,
  named: readonly NamedRole[],
  facts: TwinOwnerFacts,
  keepers: readonly number[],
  keys: TwinKeys | null,
): Promise<TwinRole[]> {
  const { database, user, superuser, createsRoles } = facts
  const canCreate = superuser || createsRoles
  const kept = new Set(keepers)
  const isMember = ({ members }: NamedRole) => members.some(({ member }) => member === user)
  const marks = new Map(named.map((role) => [role.oid, keys ? readTwinMark(role, keys) : undefined]))
  // A prepared role has no mark: a role without CREATEROLE cannot write comments on others.
  const isPrepared = (role: NamedRole) => !canCreate && isMember(role)
  const judged = named.filter((role) => !marks.get(role.oid) && (kept.has(role.oid) || isPrepared(role)))
  const bare = await findBare(
    sql,
    judged.map(({ oid }) => oid),
    // Twins that stayed when the masks ended have no record.
    { keepers, homes: canCreate ? [] : nameAttempts(database) },
  )
  return named.map((role): TwinRole => {
    const isKeeper = kept.has(role.oid)
    const isBare = bare.has(role.oid)
    const isAlone = role.members.every(({ member }) => member === user)
    const isKnown = keys ? marks.get(role.oid) !== undefined : canCreate && role.isJoined
    return {
      ...role,
      isKeeper,
      isBare,
      isOurs: isKnown || (isKeeper && isBare && isAlone),
      mark: keys && marks.get(role.oid) !== 'current' ? writeTwinMark(role.oid, keys) : null,
    }
  })
}

/** For a look at a database outside of a turn, which has no keys. */
export async function lookAtTwinRoles(sql: Sql, facts: TwinOwnerFacts): Promise<TwinRole[]> {
  const record = await readRecord(sql, await findGuard(sql))
  return recognise(sql, await readTwinRoles(sql, facts), facts, record?.twinKeepers ?? [], null)
}

/**
 * Those that own no function in this database, and no relation outside the schemas of twins. Any role can name a schema like these: the
 * owner of the schema tells. Few are asked for, as some own very many twins.
 */
async function findBare(
  sql: Sql,
  oids: readonly number[],
  { keepers, homes }: { readonly keepers: readonly number[]; readonly homes: readonly string[] },
): Promise<Set<number>> {
  if (oids.length === 0) return new Set()
  const rows = await sql<{ oid: number }[]>`
    select r.oid::int8 as oid from unnest(${oids}::int8[]::oid[]) as r(oid) where not exists (
      select from pg_catalog.pg_shdepend d where d.refclassid = 'pg_catalog.pg_authid'::regclass
        and d.refobjid = r.oid and d.deptype = 'o'
        and d.dbid = (select oid from pg_catalog.pg_database where datname = current_database())
        and (d.classid = 'pg_catalog.pg_proc'::regclass or d.classid = 'pg_catalog.pg_class'::regclass and exists (
          select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          join pg_catalog.pg_roles o on o.oid = n.nspowner
          where c.oid = d.objid and not (pg_catalog.starts_with(n.nspname, ${shadowPrefix})
            and (o.oid = any(${keepers}::int8[]::oid[]) or o.rolname = any(${homes}::text[]))))))`
  return new Set(rows.map(({ oid }) => oid))
}
