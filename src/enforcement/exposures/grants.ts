import { quoteIdentifier } from '../../db/quote.ts'
import { quoteGrantee } from '../grants/grant-steps.ts'
import { aclEntries, findMaskedGrantees } from './acl-entries.ts'
import { type AclEntry, type ExposureKind, kind, type Scene, type Severity } from './exposure.ts'
import { joinStatements } from './role-book.ts'

/** A table that cannot be masked is one whether roles read it now or not; a copy or a view of one matters to its readers. */
const notMasked = kind<{ relation: Scene['unmanaged'][number]; roles: readonly string[] }>({
  code: 'NotMasked',
  severity: 'high',
  read: ({ unmanaged, book }) =>
    unmanaged.map((relation) => {
      // The owner of a view sees by it what it sees anyway.
      const holders = relation.holdsData ? [relation.owner, ...relation.grantees] : relation.grantees
      const readers = book.watched.filter(
        (role) =>
          (relation.holdsData || !book.roles.get(role)?.superuser) &&
          holders.some((one) => one === null || book.reaches(role, one)),
      )
      return { relation, roles: relation.hasRules && readers.length === 0 ? book.watched : readers }
    }),
  describe: ({ relation, roles }, { self, book }) => {
    const owner = quoteIdentifier(relation.owner)
    const own = quoteIdentifier(self)
    const changeOwner = `ALTER ${relation.kind.toUpperCase()} ${relation.name} OWNER TO ${own}`
    const names = roles.map(quoteIdentifier).join(', ')
    if (!relation.holdsData)
      return {
        objects: [relation],
        explanation: `It reads masked columns with the rights of ${owner}, which sees raw values and for which the role of the binding cannot act: ${names} read it raw. Revoke it, or give it to an owner of the masked tables: it has a masked twin then.`,
        remedy: `REVOKE SELECT ON ${relation.name} FROM ${relation.grantees.map(quoteGrantee).join(', ')} CASCADE`,
      }
    if (!relation.hasRules)
      return {
        objects: [relation],
        explanation: `It was filled from masked columns before they had rules, and belongs to ${owner}, for which the role of the binding cannot act: ${names} read it raw. Drop it, or change its owner.`,
        remedy: changeOwner,
      }
    return {
      objects: [relation],
      explanation: `A rule masks it, but the role of the binding is not a member of its owner ${owner} and cannot mask it: every role with a grant on it reads it raw.`,
      // A member of a superuser can do all that it can.
      remedy: book.roles.get(relation.owner)?.superuser ? changeOwner : `GRANT ${owner} TO ${own}`,
    }
  },
})

interface TablePrivilege {
  readonly code: string
  readonly severity: Severity
  readonly privilege: 'SELECT' | 'TRIGGER' | 'REFERENCES'
  readonly explanation: string
}

const tablePrivileges: readonly TablePrivilege[] = [
  {
    code: 'Readable',
    severity: 'high',
    privilege: 'SELECT',
    explanation:
      'A role that is to see masks holds SELECT on hidden columns right now: masks are not in place yet, or it was granted by hand and the next audit revokes it.',
  },
  {
    code: 'TriggerGrant',
    severity: 'high',
    privilege: 'TRIGGER',
    explanation:
      'TRIGGER lets the holder put a function of its own on the table. PostgreSQL hands it whole rows, raw, whenever a role writes, and runs it as that role.',
  },
  {
    code: 'ReferencesGrant',
    severity: 'medium',
    privilege: 'REFERENCES',
    explanation:
      'REFERENCES lets the holder point a foreign key of a table of its own at a masked column; each row that it then inserts tells whether a value exists.',
  },
]

interface TableRow {
  readonly oid: number
  readonly whole: readonly AclEntry[]
  readonly columns: readonly { readonly number: number; readonly acl: readonly AclEntry[] }[]
}

const tableKinds = tablePrivileges.map(({ code, severity, privilege, explanation }) =>
  kind<{ oid: number; roles: readonly string[]; remedies: readonly string[] }>({
    code,
    severity,
    async read(scene) {
      const { sql, byOid } = scene
      const rows = await sql<TableRow[]>`
        select c.oid::int8 as oid, ${aclEntries(sql, sql`c.relacl`, [privilege])} as whole,
          coalesce((select jsonb_agg(jsonb_build_object('number', a.attnum, 'acl', ${aclEntries(sql, sql`a.attacl`, [privilege])}))
            from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attacl is not null and a.attnum > 0), '[]') as columns
        from pg_catalog.pg_class c where c.oid = any(${privilege === 'SELECT' ? scene.oids : scene.tables}::oid[])`
      return rows.map(({ oid, whole, columns }) => {
        const relation = byOid.get(oid)
        const hidden = columns.flatMap(({ number, acl }) => {
          const name = relation?.hidden.find((column) => column.number === number)?.name
          return name === undefined ? [] : [{ place: `${privilege} (${quoteIdentifier(name)})`, acl }]
        })
        const found = [{ place: privilege, acl: whole }, ...hidden].flatMap(({ place, acl }) => {
          const grantees = relation && findMaskedGrantees(scene, acl, relation.owner)
          return grantees ? [{ place, grantees, name: relation.name }] : []
        })
        return {
          oid,
          roles: [...new Set(found.flatMap(({ grantees }) => grantees.roles))].sort(),
          remedies: found.map(
            ({ place, grantees, name }) => `REVOKE ${place} ON ${name} FROM ${grantees.list} CASCADE`,
          ),
        }
      })
    },
    describe: ({ relation, remedies }) => ({
      objects: [relation],
      explanation,
      remedy: joinStatements(remedies),
    }),
  }),
)

/** Default privileges open every new table of a role to others at once. */
const defaultPrivileges = kind<{ owner: string; schema: string | null; acl: readonly AclEntry[] }>({
  code: 'DefaultPrivileges',
  severity: 'low',
  read: ({ sql, oids }) => sql`
    select o.rolname::text as owner, n.nspname::text as schema, ${aclEntries(sql, sql`d.defaclacl`, ['SELECT'])} as acl
    from pg_catalog.pg_default_acl d join pg_catalog.pg_roles o on o.oid = d.defaclrole
    left join pg_catalog.pg_namespace n on n.oid = d.defaclnamespace
    where d.defaclobjtype = 'r' and ${oids.length} > 0 and (d.defaclnamespace = 0 or exists (select 1
      from pg_catalog.pg_class c where c.relnamespace = d.defaclnamespace and c.oid = any(${oids}::oid[])))
    order by 1, 2`,
  describe: ({ owner, schema, grantees }) => {
    const creator = quoteIdentifier(owner)
    const place = schema === null ? '' : ` IN SCHEMA ${quoteIdentifier(schema)}`
    return {
      objects: [{ kind: 'default privileges', name: `${creator}${place}` }],
      explanation: `Every table that ${creator} creates${schema === null ? '' : ` in ${quoteIdentifier(schema)}`} can be read by these roles at once: a masked table that is dropped and made again, or a copy of one, is open until the service looks next.`,
      remedy: `ALTER DEFAULT PRIVILEGES FOR ROLE ${creator}${place} REVOKE SELECT ON TABLES FROM ${grantees.list}`,
    }
  },
})

/** Functions that read beneath the tables. PostgreSQL reserves them for superusers until EXECUTE is granted. */
const beneathTables = [
  'pg_read_file',
  'pg_read_binary_file',
  'lo_import',
  'get_raw_page',
  'heap_page_items',
  'pg_get_wal_records_info',
  'pg_get_wal_block_info',
]

const serverFunction = kind<{ signature: string; owner: string; acl: readonly AclEntry[] }>({
  code: 'ServerFunction',
  severity: 'high',
  read: ({ sql, oids }) => sql`
    select p.oid::regprocedure::text as signature, o.rolname::text as owner, ${aclEntries(sql, sql`p.proacl`, ['EXECUTE'])} as acl
    from pg_catalog.pg_proc p join pg_catalog.pg_roles o on o.oid = p.proowner
    where p.proname = any(${beneathTables}::name[]) and p.proacl is not null and ${oids.length} > 0 order by 1`,
  describe: ({ signature, grantees }) => ({
    objects: [{ kind: 'function', name: signature }],
    explanation:
      'It reads files, pages or the write-ahead log of the server, beneath tables and their privileges: raw values are in them.',
    remedy: `REVOKE EXECUTE ON FUNCTION ${signature} FROM ${grantees.list} CASCADE`,
  }),
})

/** The data of a foreign table lies elsewhere: a role that may use its server can make another foreign table for it. */
const foreignTable = kind<{
  server: string
  owner: string
  acl: readonly AclEntry[]
  tables: readonly number[]
}>({
  code: 'ForeignTable',
  severity: 'high',
  read: ({ sql, oids }) => sql`
    select s.srvname::text as server, o.rolname::text as owner, ${aclEntries(sql, sql`s.srvacl`, ['USAGE'])} as acl,
      array_agg(t.ftrelid::int8) as tables
    from pg_catalog.pg_foreign_server s join pg_catalog.pg_roles o on o.oid = s.srvowner
    join pg_catalog.pg_foreign_table t on t.ftserver = s.oid
    where t.ftrelid = any(${oids}::oid[]) group by s.oid, o.oid, s.srvname, o.rolname, s.srvacl order by 1`,
  describe: ({ server, grantees, tables }, { byOid }) => ({
    objects: [
      { kind: 'foreign server', name: quoteIdentifier(server) },
      ...tables.flatMap((oid) => byOid.get(oid) ?? []),
    ],
    explanation: `The masked foreign table reads from ${quoteIdentifier(server)}. With USAGE on the server these roles can make a foreign table of their own for it, without masks.`,
    remedy: `REVOKE USAGE ON FOREIGN SERVER ${quoteIdentifier(server)} FROM ${grantees.list} CASCADE`,
  }),
})

export const grantKinds: readonly ExposureKind[] = [
  notMasked,
  ...tableKinds,
  defaultPrivileges,
  serverFunction,
  foreignTable,
]
