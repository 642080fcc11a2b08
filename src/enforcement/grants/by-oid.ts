import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import type { Snapshot } from '../catalog.ts'
import type { GrantChange, Step } from '../plan.ts'

type Roles = Snapshot['roles']

/**
 * The steps with changes of grants by OIDs. A role or schema that is renamed again and again makes a statement fail that names it, or
 * lets it change another one. These read the names when they run, look at the result, and try again.
 */
export function writeByOids(steps: readonly Step[], roles: Roles): Step[] {
  return steps.map((step) => {
    if (!step.change) return step
    const { on, oid, to } = step.change
    const loops = to ? [writeGrant(step.change, to, roles)] : writeRevoke(step.change)
    const target = oid === null ? `to_regclass(${quoteLiteral(on)})` : String(oid)
    const body = `DECLARE target oid := ${target}; relation text; names text; meant oid[]; versions text[]; held text[];
      missed int; BEGIN
      ${loops.join('\n')} END`
    return { ...step, sql: `DO ${quoteLiteral(body)}` }
  })
}

const entries = `(SELECT p.place, a.grantor, a.grantee, a.privilege_type, a.is_grantable, p.owner
  FROM (SELECT 0 AS place, relowner AS owner, relacl AS acl FROM pg_class WHERE oid = target
    UNION ALL SELECT n.attnum, c.relowner, n.attacl FROM pg_class c JOIN pg_attribute n ON n.attrelid = c.oid
      WHERE c.oid = target AND n.attnum > 0 AND NOT n.attisdropped) p, aclexplode(p.acl) a)`

const columnPrivileges = ['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']

/** What was passed on goes with the grants of the owner. */
function writeRevoke({ privileges }: GrantChange): string[] {
  const isAll = privileges.includes('ALL')
  const isOne = isAll ? 'TRUE' : `e.privilege_type IN (${privileges.map(quoteLiteral).join(', ')})`
  const open = `SELECT DISTINCT e.grantee AS oid FROM ${entries} e
    WHERE e.grantor = e.owner AND e.grantee <> e.owner AND ${isOne}`
  const statement = `'REVOKE ${privileges.join(', ')} ON ' || relation || ' FROM ' || names || ' CASCADE'`
  const passed = columnPrivileges.filter((privilege) => isAll || privileges.includes(privilege))
  return [...passed.map(writeFollow), writeLoop('REVOKE', open, statement)]
}

/**
 * Roles that may pass a privilege on, or have done so, get it for each column with a grant option: CASCADE follows each access list by
 * itself. It also keeps these roles from passing on more of it until the end of the transaction.
 */
function writeFollow(privilege: string): string {
  const columns = 'FROM pg_attribute WHERE attrelid = target AND attnum > 0 AND NOT attisdropped'
  const isOne = `e.privilege_type = '${privilege}'`
  const open = `SELECT h.oid FROM (
      SELECT e.grantee AS oid FROM ${entries} e WHERE e.is_grantable AND e.grantee <> e.owner AND ${isOne}
      UNION SELECT e.grantor FROM ${entries} e WHERE e.grantor <> e.owner AND ${isOne}) h
    WHERE (SELECT count(*) FROM ${entries} e WHERE e.grantee = h.oid AND e.grantor = e.owner AND e.place > 0
      AND e.is_grantable AND ${isOne}) < (SELECT count(*) ${columns})`
  const list = `(SELECT string_agg(quote_ident(attname), ', ') ${columns})`
  const statement = `'GRANT ${privilege} (' || ${list} || ') ON ' || relation || ' TO ' || names || ' WITH GRANT OPTION'`
  return writeLoop('GRANT', open, statement)
}

/** A role that cannot be granted it stays without: nothing else depends on a role that is renamed all the time. */
function writeGrant(
  { privileges, columns, grantable }: GrantChange,
  to: readonly (string | null)[],
  roles: Roles,
): string {
  const oidOf = (name: string | null) =>
    name === null ? '0' : (roles.get(name)?.oid ?? `to_regrole(${quoteLiteral(quoteIdentifier(name))})`)
  const place = columns
    ? `IN (SELECT attnum FROM pg_attribute WHERE attrelid = target AND attname IN (${columns.map(quoteLiteral).join(', ')}))`
    : '= 0'
  const open = `SELECT w.oid FROM unnest(ARRAY[${to.map(oidOf).join(', ')}]::oid[]) AS w(oid) WHERE (
    SELECT count(DISTINCT e.place) FROM ${entries} e WHERE e.grantee = w.oid AND e.is_grantable = ${grantable === true}
      AND e.privilege_type = ${quoteLiteral(privileges.join())} AND e.place ${place}) < ${columns?.length ?? 1}`
  const list = columns ? ` (${columns.map(quoteIdentifier).join(', ')})` : ''
  const option = grantable ? ' WITH GRANT OPTION' : ''
  const statement = `${quoteLiteral(`GRANT ${privileges.join()}${list} ON `)} || relation || ' TO ' || names || '${option}'`
  return writeLoop('GRANT', open, statement)
}

/** Of all roles together; after that of one at a time, so that one which is renamed all the time delays no other. */
const mostTogether = 3
const mostMisses = 200

const versions = `(SELECT xmin::text AS version FROM pg_class WHERE oid = target
  UNION ALL SELECT xmin::text FROM pg_attribute WHERE attrelid = target AND attnum > 0)`

/**
 * True when this very statement wrote a row of the target. A version that we see and whose transaction is under way is our own, and each
 * try is a subtransaction with a number of its own, later than that of the transaction.
 */
const isReached = `EXISTS (SELECT FROM (SELECT v.version, m.id, (m.id >> 32 << 32) + v.version::int8 AS full_version
    FROM ${versions} v, (SELECT txid_current_if_assigned() AS id) m) r
  WHERE CASE WHEN r.version <> ALL (versions) AND r.full_version >= r.id THEN txid_status(r.full_version) = 'in progress' END)`

const entry = '(e.place, e.grantor, e.grantee, e.privilege_type, e.is_grantable)::text'

/** True when another role gained something there. All roles lose a privilege that is revoked. */
const isMisled = `EXISTS (SELECT FROM ${entries} e
  WHERE e.grantee <> e.owner AND e.grantee <> ALL (meant) AND ${entry} <> ALL (held))`

/**
 * `open` selects roles for which the statement is left to do. A statement that did not reach the relation or the roles that it was meant
 * for has changed another relation, or for another role: it is undone. That nothing is open afterwards proves less: the owner of the
 * relation can make the same change at that moment.
 */
function writeLoop(kind: 'GRANT' | 'REVOKE', open: string, statement: string): string {
  const misled = kind === 'GRANT' ? `OR ${isMisled}` : ''
  const end = kind === 'GRANT' ? 'EXIT' : 'RAISE'
  return `missed := 0; LOOP BEGIN
    -- Takes a lock and releases it at once: with each new lock the session hears of renamed roles and schemas.
    PERFORM pg_relation_size('pg_ts_parser'::regclass);
    versions := ARRAY(SELECT v.version FROM ${versions} v);
    held := ARRAY(SELECT ${entry} FROM ${entries} e);
    -- Shortly before the statement: names may change in between.
    SELECT format('%I.%I', n.nspname, c.relname), array_agg(o.oid), string_agg(o.name, ', ') INTO relation, meant, names
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, (
      SELECT l.oid, CASE WHEN l.oid = 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END AS name FROM (${open}) l
      LEFT JOIN pg_roles r ON r.oid = l.oid WHERE l.oid = 0 OR r.oid IS NOT NULL
      ORDER BY random() LIMIT CASE WHEN missed >= ${mostTogether} THEN 1 END) o
    WHERE c.oid = target GROUP BY 1;
    EXIT WHEN names IS NULL;
    EXECUTE ${statement};
    IF EXISTS (SELECT FROM (${open}) l WHERE l.oid = ANY (meant)) OR NOT ${isReached} ${misled} THEN
      RAISE object_not_in_prerequisite_state USING MESSAGE = 'other sessions renamed ' || names || ' or ' || relation || ' meanwhile';
    END IF;
  -- The last one: another session has changed the same grants.
  EXCEPTION WHEN object_not_in_prerequisite_state OR undefined_object OR undefined_table OR invalid_schema_name OR internal_error THEN
    missed := missed + 1;
    IF missed = ${mostMisses} THEN ${end}; END IF;
  END; END LOOP;`
}
