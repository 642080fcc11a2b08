import type { Sql } from '../../db/sql.ts'
import type { Snapshot } from '../catalog.ts'
import type { GrantChange } from '../plan.ts'

interface Entry extends Pick<GrantChange, 'on' | 'oid'> {
  /** Null: the whole relation. */
  readonly column: string | null
  /** 0: PUBLIC. Null: of a role that the plan has created, which no other session can rename yet. */
  readonly grantee: number | null
  readonly role: string | null
  readonly privilege: string
  readonly grantable: boolean
}

/**
 * Selects relations on which roles hold more than changes left them, by OID: a role that had another name while its grant was revoked
 * has kept it. The access lists are looked at, and not the names in statements; only privileges that the changes are about.
 */
export function selectExcess(tx: Sql, changes: readonly GrantChange[], { roles }: Pick<Snapshot, 'roles'>) {
  const targets = [...Map.groupBy(changes, ({ on }) => on).values()].flatMap((list) => {
    const [first] = list
    const privileges = [...new Set(list.flatMap((change) => change.privileges))].join()
    return first ? [{ on: first.on, oid: first.oid, privileges, left: listLeft(list, roles) }] : []
  })
  const left = targets.flatMap((target) => target.left)
  return tx`
    select pg_catalog.format('roles with grants on %I.%I', n.nspname, c.relname), null from (
      with target as materialized (
        select ${oidOf(tx)} as oid, pg_catalog.string_to_array(t.privileges, ',') as privileges
        from unnest(${targets.map(({ on }) => on)}::text[], ${targets.map(({ oid }) => oid)}::int8[]::oid[],
          ${targets.map(({ privileges }) => privileges)}::text[]) as t(name, oid, privileges)
      ), list as materialized (
        select c.oid, t.privileges, 0 as place, c.relowner as owner, c.relacl as acl
        from target t join pg_catalog.pg_class c on c.oid = t.oid
        union all
        select c.oid, t.privileges, a.attnum, c.relowner, a.attacl from target t join pg_catalog.pg_class c on c.oid = t.oid
        join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attacl is not null
      )
      select l.oid, l.place, e.grantee, e.privilege_type, e.is_grantable from list l, pg_catalog.aclexplode(l.acl) e
      where e.grantee <> l.owner and ('ALL' = any(l.privileges) or e.privilege_type = any(l.privileges))
      except
      select w.oid, case when w.label is null then 0 else a.attnum end, coalesce(w.grantee, r.oid), w.privilege, w.grantable
      from (
        select ${oidOf(tx)} as oid, t.label, t.grantee, t.role, t.privilege, t.grantable
        from unnest(${left.map(({ on }) => on)}::text[], ${left.map(({ oid }) => oid)}::int8[]::oid[],
          ${left.map(({ column }) => column)}::text[], ${left.map(({ grantee }) => grantee)}::int8[]::oid[],
          ${left.map(({ role }) => role)}::text[], ${left.map(({ privilege }) => privilege)}::text[],
          ${left.map(({ grantable }) => grantable)}::boolean[]) as t(name, oid, label, grantee, role, privilege, grantable)
      ) w left join pg_catalog.pg_attribute a on a.attrelid = w.oid and a.attname = w.label
      left join pg_catalog.pg_roles r on r.rolname = w.role
    ) x join pg_catalog.pg_class c on c.oid = x.oid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    -- An entry of a role that is gone leads to nobody, and no statement can name it.
    where x.grantee = 0 or exists (select 1 from pg_catalog.pg_roles r where r.oid = x.grantee)
    group by n.nspname, c.relname`
}

function oidOf(tx: Sql) {
  return tx`coalesce(t.oid, (select k.oid from pg_catalog.pg_class k join pg_catalog.pg_namespace s on s.oid = k.relnamespace
    where s.nspname = (pg_catalog.parse_ident(t.name))[1] and k.relname = (pg_catalog.parse_ident(t.name))[2]))`
}

/** What the changes of one relation leave, in their order: a grant before a REVOKE is gone with it. */
function listLeft(changes: readonly GrantChange[], roles: Snapshot['roles']): Entry[] {
  let left: Entry[] = []
  for (const change of changes) {
    const { on, oid, privileges, columns, to, grantable = false } = change
    if (!to)
      left = left.filter(({ privilege }) => !['ALL', privilege].some((one) => privileges.includes(one)))
    for (const grantee of to ?? [])
      for (const privilege of privileges)
        for (const column of columns ?? [null]) {
          const known = grantee === null ? 0 : (roles.get(grantee)?.oid ?? null)
          const entry = { on, oid, column, grantee: known, role: known === null ? grantee : null, privilege }
          left.push({ ...entry, grantable: false }, ...(grantable ? [{ ...entry, grantable }] : []))
        }
  }
  return left
}
