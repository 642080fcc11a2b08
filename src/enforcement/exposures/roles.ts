import { quoteIdentifier } from '../../db/quote.ts'
import { type ExposureKind, kind, type MaskedRelation, type Scene } from './exposure.ts'
import { joinStatements, type RoleFacts } from './role-book.ts'

interface RoleRow {
  readonly role: string
  readonly roles: readonly string[]
}

const list = (roles: readonly string[]) => roles.map(quoteIdentifier).join(', ')

const withoutSuperusers = ({ book }: Scene, roles: readonly string[]) =>
  roles.filter((role) => !book.roles.get(role)?.superuser)

/** How masked roles other than the holder come to act as it. */
function throughMembership(roles: readonly string[], holder: string): string {
  const others = roles.filter((role) => role !== holder)
  return others.length === 0
    ? ''
    : ` ${list(others)} can become it by membership (SET ROLE, or by inheritance).`
}

interface Attribute {
  readonly code: string
  has(role: RoleFacts, version: number): boolean
  /** The word of `ALTER ROLE` that removes it. */
  readonly opposite: string
  readonly explanation: string
}

const attributes: readonly Attribute[] = [
  {
    code: 'Superuser',
    has: ({ superuser }) => superuser,
    opposite: 'NOSUPERUSER',
    explanation: 'is a superuser: PostgreSQL checks no privilege of it, so it reads every table itself.',
  },
  {
    code: 'Replication',
    has: ({ replication, superuser }) => replication && !superuser,
    opposite: 'NOREPLICATION',
    explanation:
      'has REPLICATION: it can take a base backup of the whole cluster or stream its changes, raw values included.',
  },
  {
    code: 'CreateRole',
    // Since 16, CREATEROLE reaches only the roles that it made itself.
    has: ({ createRole, superuser }, version) => createRole && !superuser && version < 160000,
    opposite: 'NOCREATEROLE',
    explanation:
      'has CREATEROLE, which before PostgreSQL 16 lets it join any role that is not a superuser: the owner of the table, an exempt role, pg_read_all_data.',
  },
]

/** Attributes that make a role effectively exempt, whatever the policy says. */
const attributeKinds = attributes.map(({ code, has, opposite, explanation }) =>
  kind<RoleRow & { keepsIt: boolean }>({
    code,
    severity: 'high',
    read: ({ book, self, version }) =>
      [...book.roles.values()]
        .filter((role) => has(role, version))
        .map(({ name, bootstrap }) => ({
          role: name,
          roles: book.watchedBehind(name),
          keepsIt: name === self || bootstrap,
        })),
    describe: ({ role, roles, keepsIt }, { book }) => ({
      objects: [{ kind: 'role', name: quoteIdentifier(role) }],
      explanation: `${quoteIdentifier(role)} ${explanation}${throughMembership(roles, role)} Add the role to the exempt principals if it is meant to see raw values.`,
      remedy: keepsIt ? book.revokeMembership(role) : `ALTER ROLE ${quoteIdentifier(role)} ${opposite}`,
    }),
  }),
)

/** Roles of PostgreSQL itself that see past privileges: code, severity, and the rights of each role. */
const predefined = [
  {
    code: 'ReadsAllData',
    severity: 'high',
    rights: {
      pg_read_all_data:
        'may read every table, whatever is granted on it: as effectively exempt as a superuser',
    },
  },
  {
    code: 'WritesAllData',
    severity: 'high',
    rights: {
      pg_write_all_data:
        'may write every table, whatever is granted on it: also tables by which row policies, views and functions of other roles decide what they show. It learns by trying whether a value is in a unique column, reads raw values in errors about rows that it writes, and may lock every table',
    },
  },
  {
    code: 'ServerFiles',
    severity: 'high',
    rights: {
      pg_read_server_files:
        "may read any file that the server can read (COPY … FROM 'file', pg_read_file), the tables' own files included",
      pg_write_server_files:
        'may write any file that the server can write, its configuration included, and so run code as the server',
      pg_execute_server_program:
        'may run programs as the account of the server (COPY … FROM PROGRAM), which reads everything',
    },
  },
  {
    code: 'EndsSessions',
    severity: 'medium',
    rights: {
      pg_signal_backend:
        'may end the sessions of all roles but superusers, those of this service too: as long as it does, changes of rules and exemptions wait where the role of the binding is no superuser',
    },
  },
  {
    code: 'LocksTables',
    severity: 'medium',
    rights: {
      pg_maintain:
        'may lock every table, the catalogs of the server included: as long as it does, logins and changes of rules and exemptions wait. It also chooses when PostgreSQL runs the functions of an index as the owner of the table (REINDEX, VACUUM, ANALYZE)',
    },
  },
  {
    code: 'QueryTexts',
    severity: 'low',
    rights: {
      pg_read_all_stats:
        'sees the texts of the queries of all sessions (pg_stat_activity): values that others write into their SQL are in them',
    },
  },
] as const

const predefinedKinds = predefined.map(({ code, severity, rights }) =>
  kind<RoleRow & { can: string }>({
    code,
    severity,
    read: (scene) =>
      Object.entries(rights).map(([role, can]) => ({
        role,
        can,
        roles: withoutSuperusers(scene, scene.book.watchedBehind(role)),
      })),
    describe: ({ role, roles, can }, { book }) => ({
      objects: [{ kind: 'role', name: role }],
      explanation: `${list(roles)}: a member of ${role} ${can}.`,
      remedy: book.revokeMembership(role),
    }),
  }),
)

const everybodyExempt = kind<object>({
  code: 'EverybodyExempt',
  severity: 'high',
  read: ({ book }) => (book.listed.some((name) => name.toLowerCase() === 'public') ? [{}] : []),
  describe: (_, { masked }) => ({
    objects: masked.filter(({ hasRules }) => hasRules),
    explanation:
      "The policy exempts 'public', which is every role: no role sees masks. Take 'public' out of the exempt principals.",
  }),
})

/** As the policy says, and easily forgotten: a role is exempt with all its members. */
const exemptMember = kind<RoleRow>({
  code: 'ExemptMember',
  severity: 'low',
  read: (scene) => {
    const { book, self, twinOwners } = scene
    const known = new Set([...book.listed, self, ...twinOwners])
    return book.listed.map((role) => ({
      role,
      roles: withoutSuperusers(
        scene,
        book.loginsBehind(role).filter((one) => !known.has(one)),
      ),
    }))
  },
  describe: ({ role, roles }, { book }) => ({
    objects: [{ kind: 'role', name: quoteIdentifier(role) }],
    explanation: `The policy exempts ${quoteIdentifier(role)}, and with it its members: ${list(roles)} can see raw values.`,
    remedy: book.revokeMembership(role, (member) => !book.listed.includes(member)),
  }),
})

/** Owners need no grant. A plain view reads with the rights of its owner, so owning one shows nothing by itself. */
const tableOwner = kind<RoleRow & { relations: readonly MaskedRelation[] }>({
  code: 'TableOwner',
  severity: 'high',
  read: ({ masked, book }) =>
    [
      ...Map.groupBy(
        masked.filter(({ holdsData }) => holdsData),
        ({ owner }) => owner,
      ),
    ]
      // A superuser is listed as such.
      .filter(([owner]) => !book.roles.get(owner)?.superuser)
      .map(([role, relations]) => ({ role, relations, roles: book.watchedBehind(role) })),
  describe: ({ role, relations, roles }, { book, self }) => {
    const members = roles.filter((one) => one !== role)
    // Once the tables are another role's, being a member of the old owner does not matter.
    const moves = roles.includes(role)
      ? relations.map(
          (one) => `ALTER ${one.kind.toUpperCase()} ${one.name} OWNER TO ${quoteIdentifier(self)}`,
        )
      : []
    return {
      objects: relations,
      explanation: `${quoteIdentifier(role)} owns the relation: an owner reads it without any grant, and can grant it to others.${
        members.length > 0 ? ` ${list(members)} can act as the owner by membership.` : ''
      }`,
      remedy: joinStatements(moves) ?? book.revokeMembership(role),
    }
  },
})

/** Members of a role that owns twins may read the tables behind them. */
const twinOwnerMember = kind<RoleRow>({
  code: 'TwinOwnerMember',
  severity: 'high',
  read: (scene) =>
    scene.twinOwners.map((role) => ({
      role,
      roles: withoutSuperusers(scene, scene.book.watchedBehind(role)),
    })),
  describe: ({ role }, { book }) => ({
    objects: [{ kind: 'role', name: quoteIdentifier(role) }],
    explanation: `${quoteIdentifier(role)} owns twins and reads the tables behind them for all roles; a role that can become it reads them raw.`,
    remedy: book.revokeMembership(role),
  }),
})

/** Matters only where a masked table has row security. */
const bypassRowSecurity = kind<RoleRow & { relations: readonly MaskedRelation[] }>({
  code: 'BypassRowSecurity',
  severity: 'low',
  async read({ sql, oids, byOid, book }) {
    const rows = await sql<{ oid: number }[]>`
      select oid::int8 as oid from pg_catalog.pg_class where relrowsecurity and oid = any(${oids}::oid[]) order by 1`
    if (rows.length === 0) return []
    return [...book.roles.values()]
      .filter(({ bypassRls, superuser }) => bypassRls && !superuser)
      .map(({ name }) => ({
        role: name,
        roles: book.watchedBehind(name),
        relations: rows.flatMap(({ oid }) => byOid.get(oid) ?? []),
      }))
  },
  describe: ({ role, roles, relations }) => ({
    objects: relations,
    explanation: `${quoteIdentifier(role)} has BYPASSRLS: in the tables themselves it reads the columns without a mask of every row, also of rows that a policy hides from it. Masked columns stay masked.${throughMembership(roles, role)}`,
    remedy: `ALTER ROLE ${quoteIdentifier(role)} NOBYPASSRLS`,
  }),
})

export const roleKinds: readonly ExposureKind[] = [
  everybodyExempt,
  ...attributeKinds,
  ...predefinedKinds,
  tableOwner,
  twinOwnerMember,
  exemptMember,
  bypassRowSecurity,
]
