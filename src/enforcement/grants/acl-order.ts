import { quoteLiteral, quoteQualified } from '../../db/quote.ts'
import type { AclOrder, Relation } from '../catalog.ts'
import type { Step } from '../plan.ts'
import { actAs } from './grant-steps.ts'

const entries = (oid: number) => `(SELECT p.place, a.grantee, a.grantor, a.privilege_type, a.is_grantable, a.n
  FROM (SELECT 0 AS place, relacl AS acl FROM pg_class WHERE oid = ${oid}
    UNION ALL SELECT attnum, attacl FROM pg_attribute WHERE attrelid = ${oid} AND attnum > 0 AND NOT attisdropped) p,
    aclexplode(p.acl) WITH ORDINALITY a(grantor, grantee, privilege_type, is_grantable, n))`

/** An expression that reads the order from the catalog. */
export function selectAclOrder(oid: number): string {
  return `(SELECT coalesce(jsonb_agg(jsonb_build_array(place, grantor::int8, grantee::int8) ORDER BY place, n), '[]')
    FROM (SELECT place, grantor, grantee, min(n) AS n FROM ${entries(oid)} e GROUP BY 1, 2, 3) g)`
}

/**
 * Brings the grants of a relation back into an order, by making them anew. Where the role of the binding cannot act as each
 * grantor, or PostgreSQL refuses one, they stay as they are: the privileges are the same, only a dump lists them otherwise.
 */
export function restoreAclOrder(relation: Relation, order: AclOrder, version: number): Step[] {
  if (!mayDiffer(order)) return []
  const { oid } = relation
  const name = quoteLiteral(quoteQualified(relation.schema, relation.name))
  const grantee = `CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END`
  const others = `(SELECT e.*, k.n AS at, c.relowner FROM ${entries(oid)} e
    JOIN pg_class c ON c.oid = ${oid} AND e.grantee <> c.relowner
    LEFT JOIN jsonb_array_elements(known) WITH ORDINALITY k(entry, n)
      ON k.entry = jsonb_build_array(e.place, e.grantor::int8, e.grantee::int8)) e`
  const body = `DECLARE known jsonb := ${quoteLiteral(JSON.stringify(order))}; me name := current_user; given record; list record; BEGIN
    IF EXISTS (SELECT FROM ${others} WHERE grantor <> relowner AND NOT pg_has_role(session_user, grantor, '${version >= 160000 ? 'SET' : 'MEMBER'}'))
      OR NOT EXISTS (SELECT FROM (SELECT at, lag(at) OVER (PARTITION BY place ORDER BY n) AS before FROM ${others}) o WHERE at < before)
    THEN RETURN; END IF;
    SELECT array_agg(g.grantor ORDER BY g.place, g.at, g.n) AS grantors, array_agg(g.statement ORDER BY g.place, g.at, g.n) AS statements INTO list
    FROM (SELECT e.place, e.at, min(e.n) AS n, CASE WHEN e.grantor <> e.relowner THEN e.grantor::regrole::text END AS grantor,
        format('GRANT %s ON %s TO %s%s', string_agg(e.privilege_type || CASE WHEN e.place > 0 THEN format(' (%I)', a.attname) ELSE '' END, ', '),
          ${name}, ${grantee}, CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) AS statement
      FROM ${others} LEFT JOIN pg_attribute a ON a.attrelid = ${oid} AND a.attnum = e.place AND e.place > 0
      GROUP BY e.place, e.grantor, e.relowner, e.grantee, e.is_grantable, e.at) g;
    FOR given IN SELECT DISTINCT ${grantee} AS name FROM ${others}
    LOOP EXECUTE format('REVOKE ALL ON %s FROM %s CASCADE', ${name}, given.name); END LOOP;
    FOR given IN SELECT * FROM unnest(list.grantors, list.statements) AS s(grantor, statement)
    LOOP
      IF given.grantor IS NOT NULL THEN EXECUTE 'SET LOCAL ROLE ' || given.grantor; END IF;
      EXECUTE given.statement;
      IF given.grantor IS NOT NULL THEN EXECUTE format('SET LOCAL ROLE %I', me); END IF;
    END LOOP;
  EXCEPTION WHEN OTHERS THEN RETURN; END`
  return [{ sql: `DO ${quoteLiteral(body)}`, why: 'in the order as it was', ...actAs(relation) }]
}

/** One grantee beside the owner, or one of a column, is in order. */
function mayDiffer(order: AclOrder): boolean {
  const places = Map.groupBy(order, ([place]) => place)
  return [...places].some(([place, list]) => list.length > (place === 0 ? 2 : 1))
}
