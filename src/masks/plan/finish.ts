import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import type { Oid, Snapshot, Statement } from '../model.ts'
import { everybody } from '../names.ts'
import { formGroup, nameRoles, say, writeGrant } from './grant-statements.ts'
import type { Group, MaskedRelation } from './model.ts'

/**
 * Runs behind the changes of relations. Roles that lose an exemption are recorded with the change itself: their
 * sessions end even if this node dies first. By OID: a role that was renamed or dropped loses it too. Roles that are
 * exempt again leave the list. Sessions of roles that were dropped end with every exemption: no record says which
 * exempt roles these were members of.
 */
export function finish({ guard, header, exempt, roleNames }: Snapshot): Statement[] {
  const names = exempt.everybody
    ? [everybody]
    : [...exempt.roles].flatMap((oid) => roleNames.get(oid) ?? []).sort()
  const roles = exempt.everybody ? [] : [...exempt.roles].sort((one, other) => one - other)
  if (header && JSON.stringify([header.exempt, header.exemptOids]) === JSON.stringify([names, roles]))
    return []
  const list = `ARRAY[${names.map(quoteLiteral).join(', ')}]::text[]`
  const oids = `ARRAY[${roles.join(', ')}]::bigint[]`
  const stays = (oid: string) => `NOT (${isEverybody(list)} OR coalesce(${oid}, 0) = ANY (${oids}))`
  const sql = `UPDATE ${quoteQualified(guard.schema, 'policy')} SET exempt = ${list}, exempt_oids = ${oids},
    open = coalesce((
      SELECT jsonb_agg(e) FROM (
        SELECT e FROM jsonb_array_elements(open) e WHERE ${stays("(e ->> 'role')::bigint")}
        UNION SELECT ${entryOf('lost.oid')} FROM (
          SELECT unnest(exempt_oids)::oid UNION SELECT r.oid FROM pg_catalog.pg_roles r
            WHERE ${isEverybody('exempt')} OR exempt_oids IS NULL AND r.rolname = ANY (exempt)
          UNION SELECT a.usesysid FROM pg_catalog.pg_stat_activity a
            WHERE a.datname = current_database() AND a.usesysid IS NOT NULL AND (${isEverybody('exempt')}
              OR (exempt_oids <@ ${oids}) IS NOT TRUE
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid = a.usesysid))) lost (oid)
        WHERE ${stays('lost.oid::bigint')}) listed), '[]')`
  return say('who is exempt, and whose sessions are to end', sql)
}

/** An entry for all sessions of a role. */
export function entryOf(oid: string): string {
  const name = `(SELECT n.rolname FROM pg_catalog.pg_roles n WHERE n.oid = ${oid})::text`
  return `jsonb_build_object('role', ${oid}::bigint, 'name', coalesce(${name}, ${oid}::text))`
}

function isEverybody(list: string): string {
  return `${quoteLiteral(everybody)} = ANY (${list})`
}

/**
 * `pg_dump` of owners and exempt roles locks every table that it finds, ours too. A role without a right here can be
 * dropped. Locks on the schema of the records hold up no mask.
 */
export function shareGuard(snapshot: Snapshot, masked: readonly MaskedRelation[]): Group[] {
  const { guard, header, exempt, server, isWhole } = snapshot
  const owners = masked.flatMap(({ relation }) => (relation.kind === 'table' ? [relation.owner] : []))
  const holders = new Set(masked.flatMap(({ acl }) => acl.map(({ grantee }) => grantee)))
  const readers = exempt.everybody ? [0] : [...exempt.named].filter((oid) => holders.has(oid))
  const wanted = new Set([...readers, ...owners].filter((oid) => oid !== server.binding.oid))
  const now = new Set(header?.readers)
  const write = (verb: 'GRANT' | 'REVOKE', oids: readonly Oid[]) =>
    ['SELECT ON ALL TABLES IN', 'USAGE ON'].flatMap((what) =>
      writeGrant(
        verb,
        `${what} SCHEMA ${quoteIdentifier(guard.schema)}`,
        nameRoles(snapshot, oids),
        'pg_dump of owners and exempt roles reads the records',
      ),
    )
  const others = isWhole ? [...now].filter((oid) => !wanted.has(oid)) : []
  const missing = [...wanted].filter((oid) => !now.has(oid))
  const target = 'the schema of the records'
  return [formGroup(target, target, [...write('GRANT', missing), ...write('REVOKE', others)])]
}

/** The end of all masks in the database. */
export function leave({ guard, schemas, twinOwners, server, records }: Snapshot): Group[] {
  const why = 'masking ends'
  const shadowed = [...schemas.values()].filter(({ shadow }) => shadow)
  const open = [
    // Without CASCADE: what is not ours stays, and keeps the schema.
    ...say(why, ...shadowed.map(({ twins }) => `DROP SCHEMA IF EXISTS ${quoteIdentifier(twins)}`)),
    ...twinOwners.flatMap(({ role, name }) => {
      const owner = quoteIdentifier(name)
      const used = shadowed.filter(({ users }) => users.includes(role))
      return [
        ...used.flatMap((one) =>
          writeGrant('REVOKE', `USAGE ON SCHEMA ${quoteIdentifier(one.name)}`, [owner], why),
        ),
        ...(server.binding.isSuperuser ? [] : say(why, writeLastRevokes(role, server.version))),
        { sql: `DROP OWNED BY ${owner}`, why, as: server.binding.isSuperuser ? undefined : name },
        ...say(why, `DROP ROLE ${owner}`),
      ]
    }),
    ...say(why, writeOrphanDrops(guard.schema), `DROP SCHEMA ${quoteIdentifier(guard.schema)} CASCADE`),
  ]
  const target = 'the roles and schemas of twins'
  return [formGroup(target, target, open, { needs: [...records.keys()] })]
}

/** The schemas of twins of schemas that were dropped. */
const writeOrphanDrops = (guard: string) => `DO $do$
  DECLARE orphan name;
  BEGIN
    FOR orphan IN SELECT n.nspname FROM ${quoteQualified(guard, 'shadow')} s JOIN pg_namespace n ON n.oid = s.shadow
      WHERE s.source NOT IN (SELECT oid FROM pg_namespace)
    LOOP
      EXECUTE format('DROP SCHEMA %I', orphan);
    END LOOP;
  END $do$`

/** What row policies read, for one. A role that runs DROP OWNED revokes nothing that other roles granted to it. */
const writeLastRevokes = (role: Oid, version: number) => `DO $do$
  DECLARE one record;
  BEGIN
    FOR one IN SELECT c.oid::regclass AS relation, c.relowner::regrole AS owner FROM pg_class c, aclexplode(c.relacl) a
      WHERE a.grantee = ${role} AND pg_has_role(c.relowner, '${version >= 160_000 ? 'SET' : 'MEMBER'}')
    LOOP
      EXECUTE format('SET LOCAL ROLE %s', one.owner);
      EXECUTE format('REVOKE ALL ON %s FROM %s', one.relation, ${role}::regrole);
      RESET ROLE;
    END LOOP;
  END $do$`
