import { aclEntries } from './acl-entries.ts'
import { type AclEntry, kind } from './exposure.ts'

/** Settings that load a library into the own session, which PostgreSQL reserves for superusers until SET is granted. */
const loading = ['session_preload_libraries', 'dynamic_library_path', 'extension_control_path']

/** Settings for all sessions that run a program, load a library, or choose files and the schemas of names. */
const governing = '(_command|_librar(y|ies)|_path|_file|jit_provider)$'

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
            where parname = any(${loading}::text[])
          union all
          select parname, ${aclEntries(sql, sql`paracl`, ['ALTER SYSTEM'])} from pg_catalog.pg_parameter_acl
            where parname ~ ${governing}
        ) p order by 1`,
  describe: ({ parameter, grantees }) => ({
    objects: [{ kind: 'parameter', name: parameter }],
    explanation: grantees.privileges.includes('SET')
      ? `With SET on ${parameter} these roles choose libraries that the server loads into their sessions: code in such a library reads the tables' own files.`
      : `With ALTER SYSTEM on ${parameter} these roles choose what the server runs, loads or reads for all sessions, those of superusers too: code that they choose there reads raw values.`,
    remedy: `REVOKE ${grantees.privileges.join(', ')} ON PARAMETER ${parameter} FROM ${grantees.list} CASCADE`,
  }),
})
