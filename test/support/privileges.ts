import { execFileSync } from 'node:child_process'
import type { Database } from '../../src/db/database.ts'
import type { ClusterName } from './cluster.ts'
import { findDumpPrograms } from './dump-programs.ts'

/** Every privilege in a database, default ones spelled out. Comparable whatever the order, and whoever granted it. */
export async function listPrivileges({ sql }: Database, roles: readonly string[]): Promise<string[]> {
  const rows = await sql<{ line: string }[]>`
    with acls as (
      select 'table ' || c.oid::regclass as what, coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner)) as acl
      from pg_class c where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
        and c.relnamespace::regnamespace::text not like 'pg\_toast%'
      union all select 'column ' || a.attrelid::regclass || '.' || a.attname, a.attacl from pg_attribute a
        where a.attacl is not null and a.attnum > 0 and a.attrelid >= 16384
      union all select 'schema ' || nspname, coalesce(nspacl, acldefault('n', nspowner)) from pg_namespace where nspname not like 'pg\_%' and nspname <> 'information_schema'
      union all select 'type ' || oid::regtype, coalesce(typacl, acldefault('T', typowner)) from pg_type
        where oid >= 16384
      union all select 'function ' || oid::regprocedure, coalesce(proacl, acldefault('f', proowner)) from pg_proc
        where oid >= 16384
      union all select 'database', coalesce(datacl, acldefault('d', datdba)) from pg_database where datname = current_database()
      union all select 'default ' || defaclrole::regrole || ' ' || defaclnamespace || ' ' || defaclobjtype::text, defaclacl from pg_default_acl
    )
    select format('%s: %s to %s%s', what, a.privilege_type, a.grantee::regrole,
      case when bool_or(a.is_grantable) then ' with grant option' end) as line
    from acls, aclexplode(acl) a group by what, a.privilege_type, a.grantee
    union all
    select format('%s is a member of %s', m.member::regrole, m.roleid::regrole) from pg_auth_members m
    where m.member::regrole::text = any(${roles}) or m.roleid::regrole::text = any(${roles})
    order by 1`
  return rows.map(({ line }) => line)
}

/** The schema with its privileges as pg_dump writes it; undefined where no pg_dump reads that version. */
export function dumpSchema(cluster: ClusterName, url: string): string | undefined {
  const programs = findDumpPrograms(cluster)
  if (!programs) return undefined
  const text = execFileSync(programs.pgDump, ['--schema-only', url], { encoding: 'utf8' })
  // The script is guarded by a key that differs every time.
  return text.replace(/^\\(un)?restrict .*$/gm, '')
}
