import { quoteIdentifier, revokeMembership } from '../../db/quote.ts'
import { type AclEntry, type ExposureKind, kind, type Scene } from './exposure.ts'
import { aclEntries, listReaders, revokeFrom } from './grantees.ts'
import { canLogIn } from './role-book.ts'

const everybodyExempt = kind<object>({
  code: 'EverybodyExempt',
  severity: 'high',
  meaning: 'the policy exempts `public`',
  read: ({ listed }) => (listed.some((name) => name.toLowerCase() === 'public') ? [{}] : []),
  describe: (_, { masked }) => ({
    objects: masked.filter(({ hasRules }) => hasRules),
    explanation: [
      "The policy exempts 'public', which is every role: no role sees masks.",
      "Take 'public' out of the exempt principals.",
    ],
  }),
})

const list = (roles: readonly string[]) => roles.map(quoteIdentifier).join(', ')

/** As the policy says, and easily forgotten: a role is exempt with all its members. */
const exemptMember = kind<{ role: string; roles: readonly string[]; remedy: string | null }>({
  code: 'ExemptMember',
  severity: 'low',
  meaning: 'members of an exempt role are exempt with it',
  async read({ sql, version, listed, self, ours, roles, reaches }) {
    const memberships = await sql<{ member: string; role: string; grantor: string | null }[]>`
      select m.rolname::text as member, g.rolname::text as role, b.rolname::text as grantor
      from pg_catalog.pg_auth_members a join pg_catalog.pg_roles m on m.oid = a.member
      join pg_catalog.pg_roles g on g.oid = a.roleid
      left join pg_catalog.pg_roles b on b.oid = a.grantor and ${version >= 160000}
      where g.rolname = any(${listed}::text[]) and m.rolname <> all(${[self, ...listed]}::text[]) order by 1, 2, 3`
    const known = new Set([...listed, ...ours])
    const members = [...roles.values()].filter(
      ({ name, superuser }) => !superuser && !known.has(name) && canLogIn(roles, name),
    )
    return listed.map((role) => ({
      role,
      roles: members.map(({ name }) => name).filter((name) => reaches(name, role)),
      remedy:
        memberships
          .filter((one) => one.role === role)
          .map(({ member, grantor }) => revokeMembership(role, member, grantor))
          .join(';\n') || null,
    }))
  },
  describe: ({ role, roles, remedy }) => ({
    objects: [{ kind: 'role', name: quoteIdentifier(role) }],
    explanation: [
      `The policy exempts ${quoteIdentifier(role)}, and with it its members:`,
      `${list(roles)} can see raw values.`,
    ],
    remedy,
  }),
})

/** A table that cannot be masked is listed whether roles read it now or not, a copy or a view for its readers. */
const notMasked = kind<{ relation: Scene['unmanaged'][number]; roles: readonly string[] }>({
  code: 'NotMasked',
  severity: 'high',
  meaning: 'the binding cannot act for the owner of a relation that shows raw values',
  read: (scene) =>
    scene.unmanaged.map((relation) => {
      // The owner of a view sees by it what it sees anyway.
      const holders = relation.kind === 'view' ? relation.grantees : [relation.owner, ...relation.grantees]
      const readers = listReaders(scene, null, holders)
      return { relation, roles: relation.hasRules && readers.length === 0 ? scene.watched : readers }
    }),
  describe: ({ relation, roles }, scene) => {
    const { kind: own, name, hasRules } = relation
    const [owner, self] = [quoteIdentifier(relation.owner), quoteIdentifier(scene.self)]
    const blame = `the role of the binding cannot act for its owner ${owner}: ${list(roles)} read it raw.`
    // A member of a superuser can do all that it can.
    const canJoin = hasRules && !scene.roles.get(relation.owner)?.superuser
    const change = canJoin
      ? `GRANT ${owner} TO ${self}`
      : `ALTER ${own.toUpperCase()} ${name} OWNER TO ${self}`
    const words = {
      table: [`A rule masks it, but ${blame}`],
      copy: [`It was filled from masked columns, and ${blame}`, 'Drop it, or change its owner.'],
      view: [
        `It reads masked columns with the rights of ${owner}, and ${blame}`,
        'Revoke it, or give it to an owner of the masked tables: it has a masked twin then.',
      ],
    }
    return {
      objects: [relation],
      explanation: words[own === 'view' ? own : hasRules ? 'table' : 'copy'],
      remedy: own === 'view' ? relation.remedy : change,
    }
  },
})

/** Default privileges open every new table of a role to others at once. */
const defaultPrivileges = kind<{ owner: string; schema: string | null; acl: readonly AclEntry[] }>({
  code: 'DefaultPrivileges',
  severity: 'low',
  meaning: 'new tables can be read until the next audit',
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
    const prefix = `ALTER DEFAULT PRIVILEGES FOR ROLE ${creator}${place} `
    return {
      objects: [{ kind: 'default privileges', name: `${creator}${place}` }],
      explanation: [
        `Every table that ${creator} creates${schema === null ? '' : ' in this schema'} is open to these roles:`,
        'a masked table that is dropped and made again, or a copy of one, is open until the service looks next.',
      ],
      remedy: revokeFrom(grantees, 'TABLES', prefix),
    }
  },
})

export const accessKinds: readonly ExposureKind[] = [
  everybodyExempt,
  exemptMember,
  notMasked,
  defaultPrivileges,
]
