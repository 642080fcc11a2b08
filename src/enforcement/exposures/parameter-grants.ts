import { aclEntries } from './acl-entries.ts'
import { type AclEntry, kind } from './exposure.ts'

/**
 * Settings by which the own session loads a library, or by which a procedural language runs code or a function at its start. PostgreSQL
 * reserves them for superusers until SET is granted. `extension_destdir` is of Debian.
 */
const loading =
  '^(session_preload_libraries|dynamic_library_path|extension_control_path|extension_destdir|.*\\.(start_proc|on_plperlu?_init))$'

/** Settings for all sessions that run a program or code, load a library, or choose files and the schemas of names. */
const governing =
  '(_command|_script|_librar(y|ies)|_path|_(key)?file|_filename|_(dest)?dir|_director(y|ies)|jit_provider|\\.start_proc|\\.on_(plperlu?_)?init)$'

export const parameterGrant = kind<{ parameter: string; owner: string; acl: readonly AclEntry[] }>({
  code: 'ParameterGrant',
  severity: 'high',
  read: ({ sql, version, oids }) =>
    // Before 15 no parameter can be granted.
    version < 150000 || oids.length === 0
      ? []
      : sql`
        select p.parname as parameter, '' as owner, p.acl from (
          select parname, ${aclEntries(sql, sql`paracl`, ['SET'])} as acl from pg_catalog.pg_parameter_acl
            where parname ~ ${loading}
          union all
          select parname, ${aclEntries(sql, sql`paracl`, ['ALTER SYSTEM'])} from pg_catalog.pg_parameter_acl
            where parname ~ ${governing}
        ) p order by 1`,
  describe: ({ parameter, grantees }) => ({
    objects: [{ kind: 'parameter', name: parameter }],
    explanation: grantees.privileges.includes('SET')
      ? `With SET on ${parameter} these roles choose libraries, or code of a procedural language, that the server runs in their sessions: such code can read the tables' own files.`
      : `With ALTER SYSTEM on ${parameter} these roles choose what the server runs, loads or reads for all sessions, those of superusers too: code that they choose there reads raw values.`,
    remedy: `REVOKE ${grantees.privileges.join(', ')} ON PARAMETER ${parameter} FROM ${grantees.list} CASCADE`,
  }),
})
