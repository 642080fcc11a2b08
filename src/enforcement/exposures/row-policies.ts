import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import type { Exposure, ExposureClass } from './exposure.ts'

interface Row {
  readonly oid: number
  readonly name: string
  readonly roles: readonly string[]
  readonly using: string | null
  readonly check: string | null
}

/** A twin reads its table as its owner, so policies for certain roles are not those of the person who asks. */
export const rowPolicies: ExposureClass = {
  code: 'RowPolicyByRole',
  async find({ sql, masked, byOid, book }) {
    const rows = await sql<Row[]>`
      select p.polrelid::int8 as oid, p.polname::text as name,
        array(select rolname::text from pg_catalog.pg_roles where oid = any(p.polroles) order by 1) as roles,
        pg_catalog.pg_get_expr(p.polqual, p.polrelid) as using,
        pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) as check
      from pg_catalog.pg_policy p join pg_catalog.pg_class c on c.oid = p.polrelid and c.relrowsecurity
      where p.polpermissive and p.polcmd in ('r', '*') and 0 <> all(p.polroles)
        and p.polrelid = any(${masked.map(({ oid }) => oid)}::oid[]) order by 1, 2`
    return rows.flatMap((row): Exposure[] => {
      const relation = byOid.get(row.oid)
      if (!relation) return []
      const concerned = [...new Set(row.roles.flatMap((role) => book.watchedBehind(role)))]
      if (concerned.length === 0) return []
      return [
        {
          code: 'RowPolicyByRole',
          severity: 'low',
          objects: [
            { kind: 'policy', name: quoteIdentifier(row.name) },
            { kind: relation.kind, name: relation.name },
          ],
          roles: concerned,
          explanation:
            'The policy lets certain roles see rows. The twin reads the table as its owner, for whom the policy does not count: through the twin these roles miss the rows. Nothing more is shown than before.',
          remedy: makePublic(relation.name, row),
          rule: null,
        },
      ]
    })
  },
}

/** The same policy for everybody, with its roles in the condition: current_user is the person who asks, in a twin as well. */
function makePublic(table: string, { name, roles, using, check }: Row): string {
  const member = roles
    .map((role) => `pg_catalog.pg_has_role(current_user, ${quoteLiteral(role)}, 'USAGE')`)
    .join(' OR ')
  const condition = (expression: string) => `((${member}) AND (${expression}))`
  const parts = [
    ...(using === null ? [] : [`USING ${condition(using)}`]),
    ...(check === null ? [] : [`WITH CHECK ${condition(check)}`]),
  ]
  return `ALTER POLICY ${quoteIdentifier(name)} ON ${table} TO PUBLIC ${parts.join(' ')}`
}
