import { quoteIdentifier } from '../../db/quote.ts'
import type { Query, Row, Sql } from '../../db/sql.ts'
import { revokeFrom, writerEntries } from './acl-entries.ts'
import { type AclEntry, type ExposureKind, kind } from './exposure.ts'
import { treeText } from './stored-trees.ts'
import { policyColumns } from './whole-rows.ts'

interface PolicyRow {
  readonly oid: number
  readonly name: string
  readonly keys: readonly number[]
  readonly isPublic: boolean
  readonly meant: readonly string[]
}

/** Of the text of a function, in characters. */
const mostText = 100_000

/** The word as a constant of a stored expression has it: a function may run a text. */
const settingBytes = [...Buffer.from('current_setting')].join(' ')

/**
 * SQL: true where a stored expression calls `current_setting`, has the word in a constant, or is too long to be searched. By the stored
 * form: PostgreSQL cannot print every expression, and locks what it reads for that.
 */
function readsSetting(sql: Sql, tree: Query<Row[]>) {
  return sql`exists (select 1 from (select ${tree} as text offset 0) t where t.text is null or pg_catalog.strpos(t.text, ${settingBytes}) > 0
    or exists (select 1 from pg_catalog.pg_proc s where s.proname = 'current_setting' and s.pronamespace = 'pg_catalog'::regnamespace
      and pg_catalog.strpos(t.text, ':funcid ' || s.oid || ' ') > 0))`
}

/** Reads alone are enough: the reader sets the value that the policy compares the masked column with. */
const settingOracle = kind<PolicyRow & { roles: readonly string[] }>({
  code: 'RowPolicyOracle',
  severity: 'high',
  async read({ sql, version, oids, book, byOid }) {
    const rows = await sql<PolicyRow[]>`
      select p.polrelid::int8 as oid, p.polname::text as name, 0 = any(p.polroles) as "isPublic",
        array(select rolname::text from pg_catalog.pg_roles where oid = any(p.polroles) order by 1) as meant,
        ${policyColumns(sql)} as keys
      from pg_catalog.pg_policy p join pg_catalog.pg_class c on c.oid = p.polrelid and c.relrowsecurity
      where p.polcmd in ('r', '*') and p.polrelid = any(${oids}::oid[])
        and (${readsSetting(sql, treeText(sql, sql`p.polqual`))} or exists (
          select 1 from pg_catalog.pg_depend d join pg_catalog.pg_proc f on f.oid = d.refobjid
          where d.classid = 'pg_catalog.pg_policy'::regclass and d.objid = p.oid
            and d.refclassid = 'pg_catalog.pg_proc'::regclass
            and (f.proname ~* 'current_setting' or pg_catalog.left(f.prosrc, ${mostText}) ~* 'current_setting'
              or ${readsSetting(sql, treeText(sql, sql`f.proargdefaults`, version >= 140000 ? sql`f.prosqlbody` : undefined))})))
      order by 1, 2`
    return rows.map((row) => {
      const owner = byOid.get(row.oid)?.owner ?? ''
      const subject = row.isPublic ? book.watched : row.meant.flatMap((role) => book.watchedBehind(role))
      return { ...row, roles: [...new Set(subject)].filter((role) => !book.reaches(role, owner)) }
    })
  },
  describe: ({ relation, column, name }, { book }) => {
    const kept = [...new Set([relation.owner, ...book.listed.filter((role) => book.roles.has(role))])]
    return {
      objects: [{ kind: 'policy', name: quoteIdentifier(name) }, relation],
      explanation: `The policy compares the masked column ${column.name} with a setting, and every role may set it: the rows that a reader then sees tell whether its guess is right, also through the twin. Better than the remedy, which leaves masked roles without the rows of this policy: compare a column without a mask, or a value that the reader cannot choose (current_user).`,
      remedy: `ALTER POLICY ${quoteIdentifier(name)} ON ${relation.name} TO ${kept.map(quoteIdentifier).join(', ')}`,
    }
  },
})

/** The same by a table: the reader writes the value that the policy compares the masked column with. */
const tableOracle = kind<{
  oid: number
  name: string
  keys: readonly number[]
  other: string
  owner: string
  acl: readonly AclEntry[]
}>({
  code: 'RowPolicyOracle',
  severity: 'high',
  read: ({ sql, oids }) => sql`
    select distinct on (p.oid, c.oid) p.polrelid::int8 as oid, p.polname::text as name, o.rolname::text as owner,
      pg_catalog.format('%I.%I', n.nspname, c.relname) as other, ${policyColumns(sql)} as keys,
      ${writerEntries(sql, sql`array(select attnum from pg_catalog.pg_attribute where attrelid = c.oid)`)} as acl
    from pg_catalog.pg_policy p join pg_catalog.pg_class t on t.oid = p.polrelid and t.relrowsecurity
    join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_policy'::regclass and d.objid = p.oid
      and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> p.polrelid
    join pg_catalog.pg_class c on c.oid = d.refobjid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_roles o on o.oid = c.relowner
    where p.polcmd in ('r', '*') and p.polrelid = any(${oids}::oid[]) order by p.oid, c.oid`,
  describe: ({ relation, column, name, other, grantees }) => ({
    objects: [{ kind: 'policy', name: quoteIdentifier(name) }, relation, { kind: 'table', name: other }],
    explanation: `The policy compares the masked column ${column.name} with rows of ${other}, and these roles may write them: the rows that a reader then sees tell whether its guess is right, also through the twin.`,
    remedy: revokeFrom(grantees, other),
  }),
})

export const policyOracleKinds: readonly ExposureKind[] = [settingOracle, tableOracle]
