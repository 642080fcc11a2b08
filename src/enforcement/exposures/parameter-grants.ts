import { aclEntries } from './acl-entries.ts'
import { type AclEntry, kind } from './exposure.ts'

/**
 * Settings by which the own session loads a library, or by which a procedural language runs code or a function at its start. PostgreSQL
 * reserves them for superusers until SET is granted. `extension_destdir` is of Debian.
 */
const loading =
  '^(session_preload_libraries|dynamic_library_path|extension_control_path|extension_destdir|.*\\.(start_proc|on_plperlu?_init))$'

/** Settings for all sessions that run a program or code, load a library, or choose files, the schemas of names and the primary of a standby. */
const governing =
  '(_command|_script|_librar(y|ies)|_path|_(key)?file|_filename|_(dest)?dir|_director(y|ies)|jit_provider|^primary_conninfo|\\.start_proc|\\.on_(plperlu?_)?init)$'

/** Settings by which statements fire no triggers: those of tables, and those that note changes of the catalog. */
const passing = ['session_replication_role', 'event_triggers']

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
          union all
          select parname, ${aclEntries(sql, sql`paracl`, ['SET', 'ALTER SYSTEM'])} from pg_catalog.pg_parameter_acl
            where parname = any(${passing}::text[])
        ) p order by 1`,
  describe: ({ parameter, grantees }) => ({
    severity: passing.includes(parameter) ? 'medium' : 'high',
    objects: [{ kind: 'parameter', name: parameter }],
    explanation: passing.includes(parameter)
      ? `With ${grantees.privileges.join(' and ')} on ${parameter} these roles have statements fire no triggers: what triggers check or log does not happen, and changes of the catalog are found by the next audit alone.`
      : grantees.privileges.includes('SET')
        ? `With SET on ${parameter} these roles choose libraries, or code of a procedural language, that the server runs in their sessions: such code can read the tables' own files.`
        : `With ALTER SYSTEM on ${parameter} these roles choose what the server runs, loads or reads for all sessions, those of superusers too: code that they choose there reads raw values.`,
    remedy: `REVOKE ${grantees.privileges.join(', ')} ON PARAMETER ${parameter} FROM ${grantees.list} CASCADE`,
  }),
})
