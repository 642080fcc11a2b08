import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import type { MaskRecord, Oid, Snapshot, Statement } from '../model.ts'
import { everybody } from '../names.ts'
import { nameRoles } from './grant-statements.ts'
import type { MaskedRelation } from './model.ts'

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
  return [{ sql, why: 'who is exempt, and whose sessions are to end' }]
}

/** An entry for all sessions of a role. */
export function entryOf(oid: string): string {
  const name = `(SELECT n.rolname FROM pg_catalog.pg_roles n WHERE n.oid = ${oid})::text`
  return `jsonb_build_object('role', ${oid}::bigint, 'name', coalesce(${name}, ${oid}::text))`
}

function isEverybody(list: string): string {
  return `${quoteLiteral(everybody)} = ANY (${list})`
}

/** Relations of which columns are hidden that were not: cursors may go on to read them. */
export function listNewlyHidden(
  masked: readonly MaskedRelation[],
  records: ReadonlyMap<Oid, MaskRecord>,
): Oid[] {
  return masked
    .filter(({ relation, masks, hidden }) => {
      const record = records.get(relation.oid)
      const known = new Set(record?.pins.map(({ number }) => number))
      return !record ? hidden.size > 0 : [...masks.keys()].some((number) => !known.has(number))
    })
    .map(({ relation }) => relation.oid)
}

/**
 * `pg_dump` of owners and exempt roles locks every table that it finds, ours too. A role without a right here can be
 * dropped.
 */
export function shareGuard(
  { guard, header, exempt, roleNames, server, isWhole }: Snapshot,
  masked: readonly MaskedRelation[],
): Statement[] {
  const schema = quoteIdentifier(guard.schema)
  const owners = masked.flatMap(({ relation }) => (relation.kind === 'table' ? [relation.owner] : []))
  const holders = new Set(masked.flatMap(({ acl }) => acl.map(({ grantee }) => grantee)))
  const readers = exempt.everybody ? [0] : [...exempt.named].filter((oid) => holders.has(oid))
  const wanted = new Set([...readers, ...owners].filter((oid) => oid !== server.binding.oid))
  const now = new Set(header?.readers)
  const write = (verb: string, word: string, oids: readonly Oid[]): Statement[] => {
    const roles = nameRoles({ roleNames }, oids).join(', ')
    const why = 'pg_dump of owners and exempt roles reads the records'
    return ['SELECT ON ALL TABLES IN', 'USAGE ON'].flatMap((what) =>
      roles === '' ? [] : [{ sql: `${verb} ${what} SCHEMA ${schema} ${word} ${roles}`, why }],
    )
  }
  const missing = [...wanted].filter((oid) => !now.has(oid))
  const others = isWhole ? [...now].filter((oid) => !wanted.has(oid)) : []
  return [...write('GRANT', 'TO', missing), ...write('REVOKE', 'FROM', others)]
}
