import type { Sql } from '../../db/sql.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import type { Snapshot } from '../model.ts'
import type { MaskedRelation } from '../plan/model.ts'

/** The database is not what the turn meant to leave: an operator or another role changed something meanwhile. */
export class NotAsPlanned extends Error {
  /** Of the kind that passes. */
  readonly code = sqlstate.internalError
  /** A twin uses something else than its relation does, whatever turn makes it. */
  readonly usesOthers: boolean

  constructor(message: string, usesOthers = false) {
    super(message)
    this.usesOthers = usesOthers
  }
}

/**
 * Before the commit, by OID, whatever names mean by then: no grantee that is not exempt may read a hidden column,
 * twins use what their sources use, and only owners of twins may create anything in a schema of twins. `isClosing`:
 * twins come later.
 */
export async function postcheck(
  sql: Sql,
  snapshot: Snapshot,
  masked: readonly MaskedRelation[],
  isClosing: boolean,
): Promise<void> {
  if (masked.length === 0) return
  const { schema } = snapshot.guard
  const [leaks, using, makers] = await Promise.all([
    findLeaks(sql, snapshot, masked),
    isClosing ? [] : findUsingOthers(sql, schema, masked),
    isClosing ? [] : findMakers(sql, schema),
  ])
  if (leaks.length > 0) throw new NotAsPlanned('hidden columns are readable')
  if (using.length > 0) throw new NotAsPlanned('twins use something else than their relations', true)
  if (makers.length > 0) throw new NotAsPlanned('other roles may create objects where twins are')
}

function findLeaks(sql: Sql, { exempt, guard }: Snapshot, masked: readonly MaskedRelation[]) {
  if (exempt.everybody) return []
  const hidden = masked.flatMap(({ relation, hidden }) =>
    [...hidden].map((number) => ({ oid: relation.oid, number })),
  )
  return sql`
    with hidden as (
      select * from unnest(${hidden.map(({ oid }) => oid)}::oid[],
        ${hidden.map(({ number }) => number)}::int2[]) h(oid, number)
    ), lists as (
      select c.oid, c.relowner as owner, c.relacl as acl from pg_catalog.pg_class c
      where c.oid in (select oid from hidden)
      union all
      select c.oid, c.relowner, t.attacl from hidden h join pg_catalog.pg_class c on c.oid = h.oid
      join pg_catalog.pg_attribute t on t.attrelid = h.oid and t.attnum = h.number where t.attacl is not null
    )
    select distinct l.oid::int8 as oid from lists l, pg_catalog.aclexplode(l.acl) a
    where a.privilege_type in ('SELECT', 'TRIGGER', 'REFERENCES', 'MAINTAIN') and a.grantee <> l.owner
      and a.grantee <> all(${[...exempt.roles]}::oid[])
      and a.grantee not in (select role from ${sql(guard.schema)}.twin_owner)`
}

/**
 * Twins whose rules depend on more than their sources do, with masked relations replaced by twins. Built-ins are no
 * dependencies.
 */
function findUsingOthers(sql: Sql, schema: string, masked: readonly MaskedRelation[]) {
  const twins = masked.flatMap(({ relation, twin }) =>
    twin ? [{ oid: relation.oid, isOwn: twin.by === 'itself' }] : [],
  )
  if (twins.length === 0) return []
  return sql`
    with recursive twins as not materialized (select oid, twin_oid as twin from ${sql(schema)}.relation),
    pairs as (
      select p.oid as source, p.is_own, m.twin from unnest(${twins.map(({ oid }) => oid)}::oid[],
        ${twins.map(({ isOwn }) => isOwn)}::boolean[]) p(oid, is_own) left join twins m on m.oid = p.oid
    ), uses as (
      select v.view, d.refclassid as class, d.refobjid as object
      from (select twin from pairs union select source from pairs where not is_own) v(view)
      join pg_catalog.pg_rewrite w on w.ev_class = v.view
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
      where d.refobjid <> v.view
    ), used as (
      select p.source, u.class, u.object from pairs p join uses u on u.view = p.twin
    ), allowed as (
      select source, 'pg_catalog.pg_class'::regclass as class, source as object from pairs where is_own
      union all
      select p.source, u.class, case u.class
          when 'pg_catalog.pg_class'::regclass then coalesce(m.twin, u.object)
          when 'pg_catalog.pg_type'::regclass then coalesce((select t.reltype from pg_catalog.pg_type y
            join twins x on x.oid = y.typrelid join pg_catalog.pg_class t on t.oid = x.twin
            where y.oid = u.object), u.object)
          else u.object end
      from pairs p join uses u on u.view = p.source left join twins m on m.oid = u.object where not p.is_own
    ), types as (
      select p.source, a.atttypid as type, a.attcollation as collation from pairs p
        join pg_catalog.pg_attribute a on a.attrelid = p.source and a.attnum > 0
      union
      -- OFFSET 0: a join would hash all types.
      select b.source, t.typbasetype, t.typcollation from types b cross join lateral (
        select * from pg_catalog.pg_type where oid = b.type and typtype = 'd' offset 0) t
    )
    select p.source::int8 as oid from pairs p
    where p.twin is null or not exists (select from pg_catalog.pg_class c where c.oid = p.twin)
    union
    select u.source::int8 from used u
    where not exists (
      select from allowed a where a.source = u.source and a.class = u.class and a.object = u.object)
      and not exists (select from types t where t.source = u.source
        and (u.class = 'pg_catalog.pg_type'::regclass and u.object = t.type
          or u.class = 'pg_catalog.pg_collation'::regclass and u.object = t.collation))`
}

/** Roles that may create in schemas of twins, and are neither owners of twins nor superusers. */
const findMakers = (sql: Sql, schema: string) =>
  sql`
    select a.grantee::int8 as oid from ${sql(schema)}.shadow s join pg_catalog.pg_namespace n on n.oid = s.shadow,
      pg_catalog.aclexplode(n.nspacl) a left join pg_catalog.pg_roles r on r.oid = a.grantee
    where a.privilege_type = 'CREATE' and a.grantee <> n.nspowner and r.rolsuper is not true
      and a.grantee not in (select role from ${sql(schema)}.twin_owner)`
