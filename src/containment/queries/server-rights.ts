import type { Found, Scene } from '../model.ts'

/** Settings by which the own session loads a library, or a procedural language runs code at its start. */
const loading = [
  '^(session_preload_libraries|dynamic_library_path|extension_control_path|extension_destdir)$',
  '\\.(start_proc|on_plperlu?_init)$',
].join('|')

/** Settings for all sessions that run a program or code, load a library, or choose files, schemas and the primary. */
const governing = [
  '(_command|_script|_librar(y|ies)|_path|_(key)?file|_filename|_(dest)?dir|_director(y|ies)|jit_provider)$',
  '^primary_conninfo$|\\.(start_proc|on_(plperlu?_)?init)$',
].join('|')

/** Settings by which statements fire no triggers. */
const passing = ['session_replication_role', 'event_triggers']

/** Functions for files of the server, with those of the extension adminpack. */
const fileFunctions = [
  ...['pg_read_file', 'pg_read_binary_file', 'lo_import', 'lo_export'],
  ...['pg_file_write', 'pg_file_rename'],
]

/** Rights on the server that lead to its files, to code in all sessions, or to the source of a masked foreign table. */
export async function findServerRights({ sql, version, parts }: Scene): Promise<Found[]> {
  const settings =
    version < 150000
      ? sql``
      : sql`union all
        select 'SettingGrant', x.grantee, p.parname, x.privilege_type
        from pg_catalog.pg_parameter_acl p cross join lateral pg_catalog.aclexplode(p.paracl) x
        where p.parname = any(${passing}::text[]) or x.privilege_type = 'SET' and p.parname ~ ${loading}
          or x.privilege_type = 'ALTER SYSTEM' and p.parname ~ ${governing}`
  return await sql<Found[]>`
    select code, holder::int8 as holder, object, word from (
      select 'FileFunction' as code, x.grantee as holder, p.oid::regprocedure::text as object, 'FUNCTION' as word
      from pg_catalog.pg_proc p cross join lateral pg_catalog.aclexplode(p.proacl) x
      where p.proname = any(${fileFunctions}::text[]) and p.pronamespace = 'pg_catalog'::regnamespace
        and x.grantee <> p.proowner
      union all
      select case when x.grantee = s.srvowner then 'ServerOwner' else 'ServerUsage' end, x.grantee,
        pg_catalog.quote_ident(s.srvname), 'SERVER'
      from pg_catalog.pg_foreign_server s
      cross join lateral pg_catalog.aclexplode(coalesce(s.srvacl, pg_catalog.acldefault('S', s.srvowner))) x
      where s.oid in (select ftserver from pg_catalog.pg_foreign_table where ftrelid = any(${parts}::int8[]::oid[]))
      ${settings}) found order by 1, 3`
}
