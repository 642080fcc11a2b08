import { isDeepStrictEqual } from 'node:util'
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import type { Guard, Snapshot, Twin } from '../catalog.ts'
import { selectAclOrder } from '../grants/acl-order.ts'
import { driftFunction, driftTrigger, everybody } from '../names.ts'
import type { Desired, DesiredRelation, DesiredTwin, Plan, Step } from '../plan.ts'
import { hashView } from '../twins/parsed.ts'
import { refuseWriters } from './refuse-writers.ts'
import { type StoredGuard, storeGuard } from './stored-grants.ts'

const tableIn = (schema: string) => quoteQualified(schema, 'relation')
const policyIn = (schema: string) => quoteQualified(schema, 'policy')

export function createGuards({ schema, mark }: Snapshot['guard']): Step[] {
  const name = quoteIdentifier(schema)
  return [
    `CREATE SCHEMA ${name}`,
    `REVOKE ALL ON SCHEMA ${name} FROM PUBLIC`,
    `CREATE TABLE ${tableIn(schema)} (
    oid oid PRIMARY KEY, grants jsonb NOT NULL, column_grants jsonb NOT NULL, pins jsonb NOT NULL, lent bigint[] NOT NULL,
    hides_all boolean NOT NULL, rights jsonb NOT NULL DEFAULT '[]', twin jsonb, acl_order jsonb,
    updated_at timestamptz NOT NULL DEFAULT now())`,
    `CREATE TABLE ${policyIn(schema)} (singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton), exempt text[] NOT NULL DEFAULT '{}',
    exempt_oids bigint[] DEFAULT '{}', admin_oids bigint[] NOT NULL DEFAULT '{}', open jsonb NOT NULL DEFAULT '[]', ending text[] NOT NULL DEFAULT '{}', readers jsonb NOT NULL DEFAULT '[]', owner uuid, database oid,
    self oid, older jsonb NOT NULL DEFAULT '[]', hidden_at timestamptz, epoch bigint)`,
    `INSERT INTO ${policyIn(schema)} (self) VALUES (${quoteLiteral(tableIn(schema))}::regclass)`,
    // Default privileges may have let others in.
    `DO $$ DECLARE given record; BEGIN FOR given IN
      SELECT 'SCHEMA ${schema}' AS what, a.grantee FROM pg_namespace, aclexplode(nspacl) a
        WHERE nspname = '${schema}' AND a.grantee NOT IN (0, nspowner)
      UNION SELECT c.oid::regclass::text, a.grantee FROM pg_class c, aclexplode(c.relacl) a
        WHERE c.relnamespace = '${schema}'::regnamespace AND a.grantee NOT IN (0, c.relowner)
    LOOP EXECUTE format('REVOKE ALL ON %s FROM %s', given.what, given.grantee::regrole); END LOOP; END $$`,
    `REVOKE ALL ON ALL TABLES IN SCHEMA ${name} FROM PUBLIC`,
    ...refuseWriters(schema),
    ...(mark === null ? [] : [writeMark(schema, mark)]),
  ].map((sql) => ({ sql, why: 'a place to remember grants' }))
}

/** Guards of an earlier release lack columns, the mark, or what keeps other roles from writing them. */
export function upgradeGuards({ schema, mark }: Snapshot['guard']): Step[] {
  return [
    `ALTER TABLE ${tableIn(schema)} ADD COLUMN IF NOT EXISTS rights jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN IF NOT EXISTS acl_order jsonb`,
    `ALTER TABLE ${policyIn(schema)} ADD COLUMN IF NOT EXISTS readers jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN IF NOT EXISTS self oid, ADD COLUMN IF NOT EXISTS older jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN IF NOT EXISTS hidden_at timestamptz, ADD COLUMN IF NOT EXISTS epoch bigint,
    ADD COLUMN IF NOT EXISTS exempt_oids bigint[], ADD COLUMN IF NOT EXISTS admin_oids bigint[] NOT NULL DEFAULT '{}', ADD COLUMN IF NOT EXISTS open jsonb NOT NULL DEFAULT '[]'`,
    `UPDATE ${policyIn(schema)} SET ending = '{}', open = coalesce((SELECT jsonb_agg(${entryOf('r.oid')})
    FROM pg_catalog.pg_roles r WHERE r.rolname = ANY (ending)), open) WHERE ending <> '{}'`,
    `UPDATE ${policyIn(schema)} SET self = ${quoteLiteral(tableIn(schema))}::regclass WHERE self IS NULL`,
    ...refuseWriters(schema),
    ...(mark === null ? [] : [writeMark(schema, mark)]),
  ].map((sql) => ({ sql, why: 'a place to remember rights and readers' }))
}

/** True when records are there for later steps of the plan: without masks no schema is made for those that the service keeps itself. */
export function hasRecords({ snapshot, desired }: Pick<Plan, 'snapshot' | 'desired'>): boolean {
  return snapshot.guard.isThere || desired.masked.length > 0
}

function writeMark(schema: string, mark: string): string {
  return `COMMENT ON SCHEMA ${quoteIdentifier(schema)} IS ${quoteLiteral(mark)}`
}

export function forget(schema: string, oid: number): Step {
  return {
    sql: `DELETE FROM ${tableIn(schema)} WHERE oid = ${oid}`,
    why: 'nothing is left to remember about it',
  }
}

/**
 * The definition that we ask for as one text: columns, SELECT and options. Nothing else: nodes of the last release make twins again that
 * have more in it.
 */
export function wantedText({ columns, select, securityBarrier, securityInvoker }: DesiredTwin): string {
  return JSON.stringify([columns, select, securityBarrier, securityInvoker])
}

/** The recorded twin was asked for by the same definition. Records of builds between 0.1 and 0.2 may have a mark behind it. */
export function isWanted({ wanted }: Twin, twin: DesiredTwin): boolean {
  const text = wantedText(twin)
  return wanted === text || JSON.stringify(JSON.parse(wanted).slice(0, 4)) === text
}

/** False: a twin of an earlier release that may call others than its relation does. */
export function isCompared({ wanted, source }: Twin): boolean {
  if (source !== undefined) return true
  const [, select, , , mark] = JSON.parse(wanted)
  return mark !== undefined || !namesCode.test(select)
}

/**
 * Conditions of row policies, and calls, operators and casts with the schema of a role. Up to 0.1 PostgreSQL could find others by these
 * names than the relation uses, and twins were kept: they are compared once.
 */
const namesCode = /pg_has_role\(current_user|OPERATOR\(|\.(?:"[^"]*"|\w)+\(|::(?:"[^"]*"|\w)+\./

/** True when the row says what it would say after this plan, apart from what PostgreSQL makes of the twin. */
export function remembers(guard: Guard | undefined, wanted: DesiredRelation): boolean {
  if (!guard || guard.twin?.isClosed) return false
  const { twin } = wanted
  const isSameTwin =
    twin && guard.twin
      ? guard.twin.schema === twin.schema && guard.twin.name === twin.name && isWanted(guard.twin, twin)
      : guard.twin === twin
  return isSameTwin && remembersGrants(guard, wanted)
}

/** The same without a look at the twin. */
export function remembersGrants(guard: Guard, wanted: DesiredRelation): boolean {
  const { twin: _, ...row } = rowOf(wanted)
  return isSameRow(guard, row)
}

function isSameRow(guard: Guard, row: Omit<ReturnType<typeof rowOf>, 'twin'>): boolean {
  const { grants, columnGrants, rights, pins, lent, hidesAll } = guard
  return isSame({ grants, columnGrants, rights, pins, lent, hidesAll }, row)
}

/**
 * Runs before grants are changed: a new record has their order. `made` is read back from the catalog in the same statement, so it is what PostgreSQL will print next time. `twin`: it is
 * not looked at, because that takes a lock, and the record of it is this one.
 */
export function writeGuard({ guard, roles }: Snapshot, wanted: DesiredRelation, twin?: Twin | null): Step {
  const { twin: made } = rowOf(wanted)
  const name = made && `${quoteIdentifier(made.schema)}.${quoteIdentifier(made.name)}`
  const oid = `to_regclass(${quoteLiteral(name ?? '')})`
  const readBack = name
    ? `${json(made)} || jsonb_build_object('made', pg_get_viewdef(${oid}), 'parsed', ${hashView(oid, 'parsed')}, 'rule', ${hashView(oid, 'rule')})`
    : 'NULL'
  return writeRecord(guard.schema, toRecord(wanted, roles), twin === undefined ? readBack : jsonOrNull(twin))
}

/** The record of a relation as it is stored, without a twin. */
export function toRecord(wanted: DesiredRelation, roles: Snapshot['roles']): StoredGuard {
  return storeGuard({ ...rowOf(wanted), oid: wanted.relation.oid, twin: null, order: null }, roles)
}

/** A record that the service kept itself. */
export function copyRecord(schema: string, guard: Guard, roles: Snapshot['roles']): Step {
  return writeRecord(schema, storeGuard(guard, roles), jsonOrNull(guard.twin))
}

const json = (value: unknown) => `${quoteLiteral(JSON.stringify(value))}::jsonb`
const jsonOrNull = (value: unknown) => (value === null ? 'NULL' : json(value))

function writeRecord(schema: string, row: StoredGuard, twin: string): Step {
  const values = [
    row.oid,
    json(row.grants),
    json(row.columnGrants),
    json(row.pins),
    `ARRAY[${row.lent.join(', ')}]::bigint[]`,
    row.hidesAll,
    json(row.rights),
    twin,
    row.order ? json(row.order) : selectAclOrder(row.oid),
  ]
  return {
    sql: `INSERT INTO ${tableIn(schema)} (oid, grants, column_grants, pins, lent, hides_all, rights, twin, acl_order) VALUES (${values.join(', ')})
      ON CONFLICT (oid) DO UPDATE SET grants = excluded.grants, column_grants = excluded.column_grants, pins = excluded.pins,
        lent = excluded.lent, hides_all = excluded.hides_all, rights = excluded.rights, twin = excluded.twin, updated_at = now()`,
    why: 'what to give back when masking ends',
  }
}

/** For a twin that a node of the last release made. It is compared with its relation before the transaction commits. */
export function recordParsed(guard: string, oid: number, { schema, name, source }: DesiredTwin): Step {
  const hash = hashView(`to_regclass(${quoteLiteral(quoteQualified(schema, name))})`, 'parsed')
  return {
    sql: `UPDATE ${tableIn(guard)} SET twin = twin || ${json({ source })} || jsonb_build_object('parsed', ${hash}), updated_at = now()
      WHERE oid = ${oid}`,
    why: 'what its twin was made from',
  }
}

/** While it is closed, grants that its twin lacks are not taken for revoked. */
export function markClosed(schema: string, oid: number): Step {
  return {
    sql: `UPDATE ${tableIn(schema)} SET twin = twin || '{"isClosed": true}', updated_at = now() WHERE oid = ${oid}`,
    why: 'its twin is closed for the time being',
  }
}

/** What stands under its name is not the twin any more. */
export function forgetTwin(schema: string, twinSchema: string, name: string): Step {
  return {
    sql: `UPDATE ${tableIn(schema)} SET twin = NULL, updated_at = now()
      WHERE twin ->> 'schema' = ${quoteLiteral(twinSchema)} AND twin ->> 'name' = ${quoteLiteral(name)}`,
    why: 'it is the twin of nothing now',
  }
}

function rowOf({ remembered, rights, pins, lent, hidesAll, twin }: DesiredRelation) {
  const kept: Omit<Twin, 'made' | 'parsed' | 'rule'> | null = twin && {
    schema: twin.schema,
    name: twin.name,
    wanted: wantedText(twin),
    source: twin.source,
  }
  return {
    grants: remembered.grants,
    columnGrants: remembered.columnGrants,
    rights: [...remembered.rights, ...rights.filter((right) => right.lent)],
    pins,
    lent,
    hidesAll,
    twin: kept,
  }
}

/** Most lists come back in the order in which they were stored. */
function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other) || canonical(one) === canonical(other)
}

/** The same whatever the order of keys and of list items. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).sort().join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, each]) => `${key}:${canonical(each)}`).join(',')}}`
}

/**
 * Records the roles that lose an exemption with the change itself: their sessions end even if this node dies first. By
 * OID: a role that was renamed or dropped loses it too. Roles that are exempt again leave the list. Roles that could make themselves
 * exempt by ADMIN are recorded apart: they are masked, and a session of theirs that took an exempt role ends with ADMIN.
 * Sessions of roles that were dropped end with every exemption: no record says which exempt roles these were members of.
 */
export function writeExempt(
  { guard, roles }: Snapshot,
  { recordedExempt: exempt, adminOids }: Desired,
): Step {
  const list = `ARRAY[${exempt.map(quoteLiteral).join(', ')}]::text[]`
  const oids = `ARRAY[${listExemptOids(roles, exempt).join(', ')}]::bigint[]`
  const admins = `ARRAY[${adminOids.join(', ')}]::bigint[]`
  const stays = `NOT (${isEverybody(list)} OR coalesce(%, 0) = ANY (${oids}))`
  return {
    sql: `UPDATE ${policyIn(guard.schema)} SET exempt = ${list}, exempt_oids = ${oids}, admin_oids = ${admins}, open = coalesce((
      SELECT jsonb_agg(e) FROM (
        SELECT e FROM jsonb_array_elements(open) e WHERE ${stays.replace('%', "(e ->> 'role')::bigint")}
        UNION SELECT ${entryOf('lost.oid')} FROM (
          SELECT unnest(exempt_oids)::oid UNION SELECT r.oid FROM pg_catalog.pg_roles r
            WHERE ${isEverybody('exempt')} OR exempt_oids IS NULL AND r.rolname = ANY (exempt)
          UNION SELECT a.oid::oid FROM unnest(admin_oids) a (oid) WHERE NOT a.oid = ANY (${admins})
          UNION SELECT a.usesysid FROM pg_catalog.pg_stat_activity a
            WHERE a.datname = current_database() AND a.usesysid IS NOT NULL AND (${isEverybody('exempt')}
              OR (exempt_oids <@ ${oids}) IS NOT TRUE AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid = a.usesysid))) lost (oid)
        WHERE ${stays.replace('%', 'lost.oid::bigint')}) listed), '[]')`,
    why: 'who is exempt, and whose sessions are to end',
  }
}

/**
 * Runs before the list of exempt roles is written. Records of an earlier release say by that list alone what is left of a grant: those of
 * relations that the turn did not change keep what it said. False where masking left nothing, or open columns without saying which.
 */
export function recordLeft(schema: string): Step {
  const wasExempt = `(${isEverybody('p.exempt')} OR CASE WHEN p.exempt_oids IS NULL THEN EXISTS (SELECT FROM pg_catalog.pg_roles r
      WHERE r.oid = (g ->> 'grantee')::oid AND r.rolname = ANY (p.exempt)) ELSE (g ->> 'grantee')::bigint = ANY (p.exempt_oids) END)`
  const fill = (column: string) => `${column} = coalesce((SELECT jsonb_agg(CASE WHEN g ?| '{left,lent}' THEN g
      ELSE g || jsonb_build_object('left', ${wasExempt}) END ORDER BY n) FROM jsonb_array_elements(${column}) WITH ORDINALITY e (g, n)), '[]')`
  return {
    sql: `UPDATE ${tableIn(schema)} SET ${['grants', 'column_grants', 'rights'].map(fill).join(', ')}, updated_at = now()
      FROM ${policyIn(schema)} p WHERE jsonb_path_exists(grants || column_grants || rights, '$[*] ? (!exists (@.left) && !exists (@.lent))')`,
    why: 'what the turn before left of grants',
  }
}

/** The OIDs that a record of exempt roles has; none where PUBLIC stands for all roles. */
export function listExemptOids(roles: Snapshot['roles'], exempt: readonly string[]): number[] {
  return exempt.flatMap((name) => roles.get(name)?.oid ?? []).sort((one, other) => one - other)
}

/** An entry for all sessions of a role. */
function entryOf(oid: string): string {
  return `jsonb_build_object('role', ${oid}::bigint, 'name', coalesce((SELECT n.rolname FROM pg_catalog.pg_roles n WHERE n.oid = ${oid})::text, ${oid}::text))`
}

function isEverybody(list: string): string {
  return `${quoteLiteral(everybody)} = ANY (${list})`
}

/**
 * Needs a superuser. Where there is none, the periodic audit finds what this would have told within a second. One row for
 * each transaction that changes the catalog: transactions never wait for each other's rows, and a change succeeds where the
 * table is gone. Unlogged, the rows are in no publication.
 */
export function createWatch(schema: string): Step[] {
  const driftTable = quoteQualified(schema, 'drift')
  const noteDrift = quoteQualified(schema, driftFunction)
  return [
    `CREATE UNLOGGED TABLE IF NOT EXISTS ${driftTable} (transaction bigint PRIMARY KEY)`,
    `REVOKE ALL ON ${driftTable} FROM PUBLIC`,
    `CREATE OR REPLACE FUNCTION ${noteDrift}() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$ BEGIN
      IF tg_tag <> 'COMMENT' AND to_regclass(${quoteLiteral(driftTable)}) IS NOT NULL THEN
        INSERT INTO ${driftTable} VALUES (txid_current()) ON CONFLICT DO NOTHING; END IF; END $$`,
    `DROP EVENT TRIGGER IF EXISTS ${quoteIdentifier(driftTrigger)}`,
    // Of earlier releases.
    `DROP FUNCTION IF EXISTS ${quoteQualified(schema, 'notify_drift')}()`,
    `CREATE EVENT TRIGGER ${quoteIdentifier(driftTrigger)} ON ddl_command_end EXECUTE FUNCTION ${noteDrift}()`,
  ].map((sql) => ({ sql, why: 'to hear of changes within a second' }))
}
