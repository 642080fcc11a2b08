import type { ReasonKind } from '../contracts/verdict.ts'
import { quoteIdentifier } from '../db/quote.ts'
import { findCode } from './queries/code.ts'
import { findPrivileges } from './queries/relations.ts'
import type { Found, Scene } from './scene.ts'

/** The words of a row: what its text and its statement are made of. */
interface Words {
  /** `public.person, public.orders` */
  readonly list: string
  readonly objects: readonly Pick<Found, 'object' | 'word'>[]
  readonly by: string | null
  /** The role, quoted, or PUBLIC. */
  readonly role: string
  /** The role of the binding, quoted. */
  readonly self: string
}

interface ReasonRow {
  readonly kind: ReasonKind
  /** Which roles it is about: the holder and its members, or one of these alone. */
  readonly reach: 'all' | 'holder' | 'members'
  readonly text: (words: Words) => string
  /** Of the holder itself; members lose their membership. */
  readonly statement: (words: Words) => string | null
}

const attribute = (text: string, opposite: string): ReasonRow => ({
  kind: 'attribute',
  reach: 'all',
  text: () => text,
  statement: ({ role }) => `ALTER ROLE ${role} ${opposite}`,
})

/** About membership in the holder, which has rights that it is to have. */
const reaching = (kind: ReasonKind, text: (words: Words) => string): ReasonRow => ({
  kind,
  reach: 'members',
  text,
  statement: () => null,
})

const becoming = (what: string) =>
  reaching('membership', ({ role }) => `can become, or give itself, ${role}, ${what}`)

const owning = (what: string): ReasonRow => ({
  kind: 'ownership',
  reach: 'all',
  text: ({ list }) => `owns ${what} ${list}`,
  statement: changeOwner,
})

function changeOwner({ objects, self }: Words): string {
  return objects.map(({ word, object }) => `ALTER ${word} ${object} OWNER TO ${self}`).join(';\n')
}

const revoking = (what: string, has: string, kind: ReasonKind = 'privilege'): ReasonRow => ({
  kind,
  reach: 'all',
  text: ({ list }) => `${has} ${list}`,
  statement({ list, role, by }) {
    const statement = `REVOKE ${what} ${list} FROM ${role} CASCADE`
    return by === null ? statement : `SET ROLE ${quoteIdentifier(by)};\n${statement};\nRESET ROLE`
  },
})

/** Every reason for which masks do not contain a role. */
export const reasonRows = {
  Superuser: {
    ...attribute('is a superuser: PostgreSQL checks none of its privileges', 'NOSUPERUSER'),
    statement: ({ role, by }) => (by === 'bootstrap' ? null : `ALTER ROLE ${role} NOSUPERUSER`),
  },
  Replication: attribute('has REPLICATION, and can copy the whole server', 'NOREPLICATION'),
  CreateRole: attribute('has CREATEROLE, and can join every role but superusers', 'NOCREATEROLE'),
  Predefined: reaching('attribute', ({ role, by }) => `is in ${role}, and ${by}`),

  BecomesExempt: becoming('which the policy exempts'),
  BecomesBinding: becoming('the role of the binding'),
  BecomesTwinOwner: becoming('which owns masked twins'),
  BecomesOwner: becoming('which owns masked relations'),

  DatabaseOwner: owning('the database'),
  SchemaOwner: owning('the schema of masked relations:'),
  RelationOwner: { ...owning('masked relations:'), reach: 'holder' },
  CopyOwner: {
    ...owning('filled copies of masked relations:'),
    statement: ({ objects }) =>
      objects.map(({ object }) => `REFRESH MATERIALIZED VIEW ${object} WITH NO DATA`).join(';\n'),
  },

  CodeOwner: {
    kind: 'code',
    reach: 'all',
    text: ({ list, by }) => `owns ${list}, on which ${by} depends`,
    statement: (words) =>
      words.objects.some(({ word }) => word === 'EXTENSION')
        ? `REASSIGN OWNED BY ${words.role} TO ${words.self}`
        : changeOwner(words),
  },

  TriggerGrant: revoking('TRIGGER ON TABLE', 'has TRIGGER on relations of roles that see raw values:'),
  ReferencesGrant: revoking(
    'REFERENCES ON TABLE',
    'has REFERENCES on relations of roles that see raw values:',
  ),
  GrantOption: revoking('GRANT OPTION FOR ALL ON TABLE', 'has grant options on masked relations:'),

  SettingGrant: {
    kind: 'server',
    reach: 'all',
    text: ({ list }) => `may change settings by which the server runs other code: ${list}`,
    statement: ({ objects, role }) =>
      objects
        .map(({ word, object }) => `REVOKE ${word} ON PARAMETER ${object} FROM ${role} CASCADE`)
        .join(';\n'),
  },
  FileFunction: revoking('EXECUTE ON FUNCTION', 'may read or write files of the server:', 'server'),
  ServerUsage: revoking(
    'USAGE ON FOREIGN SERVER',
    'has USAGE on the server of a masked foreign table:',
    'server',
  ),
  ServerOwner: { ...owning('the server of a masked foreign table:'), kind: 'server' },
} as const satisfies Record<string, ReasonRow>

/** What members of PostgreSQL's own roles can do. */
const predefined: Readonly<Record<string, string>> = {
  pg_read_all_data: 'reads every relation',
  pg_write_all_data: 'writes every table',
  pg_read_server_files: 'reads the files of the server',
  pg_write_server_files: 'writes the files of the server',
  pg_execute_server_program: 'runs programs as the server',
  pg_maintain: 'locks every table, and chooses when owners run code',
  pg_read_all_stats: 'sees the queries of others with their values',
  pg_signal_backend: 'ends the sessions of this service',
}

export function findAttributes({ graph, version, self, trusted }: Scene): Found[] {
  const found = (code: string, holder: number, by: string | null = null): Found[] =>
    trusted.has(holder) ? [] : [{ code, holder, object: '', by }]
  // PostgreSQL lets no other role end the sessions of a superuser.
  const isSafe = graph.roles.get(self)?.superuser
  return [...graph.roles.values()].flatMap(({ oid, name, superuser, replication, createRole }) => {
    const power = name === 'pg_signal_backend' && isSafe ? undefined : predefined[name]
    // The first superuser cannot stop being one.
    if (superuser) return found('Superuser', oid, oid === 10 ? 'bootstrap' : null)
    if (power !== undefined) return found('Predefined', oid, power)
    return [
      ...(replication ? found('Replication', oid) : []),
      ...(createRole && version < 160000 ? found('CreateRole', oid) : []),
    ]
  })
}

/** `owners`: of masked relations. */
export function findTargets(
  { graph, self, exempt, twinOwners, trusted }: Scene,
  owners: readonly number[],
): Found[] {
  const targets = {
    BecomesExempt: exempt,
    BecomesBinding: [self],
    BecomesTwinOwner: twinOwners,
    BecomesOwner: owners.filter((oid) => !trusted.has(oid) && !graph.roles.get(oid)?.superuser),
  }
  return Object.entries(targets).flatMap(([code, oids]) =>
    oids.map((holder): Found => ({ code, holder, object: '', by: null })),
  )
}

/** The reasons that catalogs of the database tell. */
export const reasonQueries = [findCode, findPrivileges, findServerRights]

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
async function findServerRights({ sql, version, parts }: Scene): Promise<Found[]> {
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
