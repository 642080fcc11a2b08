import { quoteIdentifier } from '../../db/quote.ts'
import { kind } from './exposure.ts'

interface PolicyRow {
  readonly oid: number
  readonly name: string
  readonly keys: readonly number[]
  readonly isPublic: boolean
  readonly meant: readonly string[]
  /** The reader may choose what the column is compared with: by a setting, a function or another relation. */
  readonly isChosen: boolean
}

/** Of a stored condition, compressed: a longer one counts as naming every column and any setting. */
const mostStoredBytes = 524_288

/**
 * Which rows a policy shows tells about the column that it reads. A condition that takes the row as a whole names no
 * column. By the stored form: PostgreSQL cannot print every condition, and locks what it reads for that.
 */
export const rowPolicy = kind<PolicyRow & { roles: readonly string[] }>({
  code: 'RowPolicyOracle',
  severity: 'high',
  meaning: 'the rows that a policy over a masked column shows tell about its values',
  async read({ sql, oids, book, byOid }) {
    // PostgreSQL notes no dependency on its own functions.
    const named = sql`select from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_policy'::regclass and d.objid = p.oid`
    const rows = await sql<PolicyRow[]>`
      select p.polrelid::int8 as oid, p.polname::text as name, 0 = any(p.polroles) as "isPublic",
        array(select rolname::text from pg_catalog.pg_roles where oid = any(p.polroles) order by 1) as meant,
        array(select a.attnum::int4 from pg_catalog.pg_attribute a where a.attrelid = p.polrelid and a.attnum > 0
          and (pg_catalog.strpos(t.tree, ':varattno 0 ') > 0 or t.tree is null
            or exists (${named} and d.refobjid = p.polrelid and d.refobjsubid = a.attnum))) as keys,
        t.tree is null or exists (${named} and d.refobjid <> p.polrelid
            and d.refclassid = any('{pg_proc,pg_class}'::regclass[]::oid[]))
          or exists (select from pg_catalog.pg_proc s where s.proname = 'current_setting'
            and pg_catalog.strpos(t.tree, ':funcid ' || s.oid || ' ') > 0) as "isChosen"
      from pg_catalog.pg_policy p join pg_catalog.pg_class c on c.oid = p.polrelid and c.relrowsecurity
      cross join lateral (select case when pg_catalog.pg_column_size(p.polqual) <= ${mostStoredBytes}
        then p.polqual::text end as tree) t
      where p.polqual is not null and p.polcmd in ('r', '*') and p.polrelid = any(${oids}::oid[]) order by 1, 2`
    return rows.map((row) => {
      const owner = byOid.get(row.oid)?.owner ?? ''
      const subject = row.isPublic ? book.watched : row.meant.flatMap((role) => book.watchedBehind(role))
      return { ...row, roles: [...new Set(subject)].filter((role) => !book.reaches(role, owner)) }
    })
  },
  describe: ({ relation, column, name, isChosen }, { book }) => {
    const kept = [...new Set([relation.owner, ...book.listed.filter((role) => book.roles.has(role))])]
    return {
      severity: isChosen ? 'high' : 'low',
      objects: [{ kind: 'policy', name: quoteIdentifier(name) }, relation],
      explanation: [
        `The policy reads the masked column ${column.name}: which rows a reader sees tells about its values.`,
        isChosen
          ? 'By a setting, a function or another relation the reader may choose what to compare with.'
          : '',
        'Better than the remedy, which hides these rows from masked roles: compare a column without a mask.',
      ].filter((text) => text !== ''),
      remedy: `ALTER POLICY ${quoteIdentifier(name)} ON ${relation.name} TO ${kept.map(quoteIdentifier).join(', ')}`,
    }
  },
})
