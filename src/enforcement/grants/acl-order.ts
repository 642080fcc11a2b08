import { quoteLiteral } from '../../db/quote.ts'
import type { AclOrder, Guard, Relation } from '../catalog.ts'
import type { Step } from '../plan.ts'
import { actAs } from './grant-steps.ts'

const entries = (oid: string) => `(SELECT p.place, a.grantee, a.grantor, a.privilege_type, a.is_grantable, a.n
  FROM (SELECT 0 AS place, relacl AS acl FROM pg_class WHERE oid = ${oid}
    UNION ALL SELECT attnum, attacl FROM pg_attribute WHERE attrelid = ${oid} AND attnum > 0 AND NOT attisdropped) p,
    aclexplode(p.acl) WITH ORDINALITY a(grantor, grantee, privilege_type, is_grantable, n))`

/** An expression that reads the order from the catalog. */
export function selectAclOrder(oid: number): string {
  return `(SELECT coalesce(jsonb_agg(jsonb_build_array(place, grantor::int8, grantee::int8) ORDER BY place, n), '[]')
    FROM (SELECT place, grantor, grantee, min(n) AS n FROM ${entries(String(oid))} e GROUP BY 1, 2, 3) g)`
}

/**
 * Brings the grants of relations back into the order that they had, by making them anew. Where the role of the binding
 * cannot act as each grantor, or PostgreSQL refuses one, they stay as they are: the privileges are the same, only a dump
 * lists them otherwise. One statement for all relations, because its queries are planned once.
 */
export function restoreAclOrders(
  released: readonly { readonly guard: Guard; readonly relation: Relation | undefined }[],
  version: number,
): Step[] {
  const targets = released.flatMap(({ guard: { order }, relation }) =>
    relation && order && mayDiffer(order) ? [[relation.oid, order, actAs(relation).as ?? null]] : [],
  )
  if (targets.length === 0) return []
  const take = version >= 160000 ? 'SET' : 'MEMBER'
  const body = `DECLARE me name := current_user; target record; given record; list record; BEGIN
    FOR target IN SELECT (t ->> 0)::oid AS oid, t -> 1 AS known, t ->> 2 AS owner
      FROM jsonb_array_elements(${quoteLiteral(JSON.stringify(targets))}) t
    LOOP BEGIN
      IF target.owner IS NOT NULL THEN EXECUTE format('SET LOCAL ROLE %I', target.owner); END IF;
      IF NOT EXISTS (SELECT FROM ${others} WHERE grantor <> relowner AND NOT pg_has_role(session_user, grantor, '${take}'))
        AND EXISTS (SELECT FROM (SELECT at, lag(at) OVER (PARTITION BY place ORDER BY n) AS before FROM ${others}) o WHERE at < before)
      THEN
        SELECT array_agg(g.grantor ORDER BY g.place, g.at, g.n) AS grantors, array_agg(g.statement ORDER BY g.place, g.at, g.n) AS statements
        INTO list FROM (SELECT e.place, e.at, min(e.n) AS n, CASE WHEN e.grantor <> e.relowner THEN e.grantor::regrole::text END AS grantor,
            format('GRANT %s ON %s TO %s%s',
              string_agg(e.privilege_type || CASE WHEN e.place > 0 THEN format(' (%I)', a.attname) ELSE '' END, ', '),
              target.oid::regclass, ${grantee}, CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) AS statement
          FROM ${others} LEFT JOIN pg_attribute a ON a.attrelid = target.oid AND a.attnum = e.place AND e.place > 0
          GROUP BY e.place, e.grantor, e.relowner, e.grantee, e.is_grantable, e.at) g;
        FOR given IN SELECT DISTINCT ${grantee} AS name FROM ${others}
        LOOP EXECUTE format('REVOKE ALL ON %s FROM %s CASCADE', target.oid::regclass, given.name); END LOOP;
        FOR given IN SELECT * FROM unnest(list.grantors, list.statements) AS s(grantor, statement)
        LOOP
          IF given.grantor IS NOT NULL THEN EXECUTE 'SET LOCAL ROLE ' || given.grantor; END IF;
          EXECUTE given.statement;
          IF given.grantor IS NOT NULL THEN EXECUTE format('SET LOCAL ROLE %I', coalesce(target.owner, me)); END IF;
        END LOOP;
      END IF;
      EXECUTE format('SET LOCAL ROLE %I', me);
    EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END`
  return [{ sql: `DO ${quoteLiteral(body)}`, why: 'grants in the order that they had' }]
}

const grantee = `CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END`

/** Entries of other roles than the owner, with their place in the known order. */
const others = `(SELECT e.*, k.n AS at, c.relowner FROM ${entries('target.oid')} e
  JOIN pg_class c ON c.oid = target.oid AND e.grantee <> c.relowner
  LEFT JOIN jsonb_array_elements(target.known) WITH ORDINALITY k(entry, n)
    ON k.entry = jsonb_build_array(e.place, e.grantor::int8, e.grantee::int8)) e`

/** One grantee beside the owner, or one of a column, is in order. */
function mayDiffer(order: AclOrder): boolean {
  const places = Map.groupBy(order, ([place]) => place)
  return [...places].some(([place, list]) => list.length > (place === 0 ? 2 : 1))
}
