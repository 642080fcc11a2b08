import { quoteIdentifier } from '../../db/quote.ts'
import { type AclEntry, type ExposureKind, kind } from './exposure.ts'
import { aclEntries, revokeFrom } from './grantees.ts'

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
      remedy: `${prefix}${revokeFrom(grantees, 'TABLES')}`,
    }
  },
})

export const accessKinds: readonly ExposureKind[] = [everybodyExempt, defaultPrivileges]
