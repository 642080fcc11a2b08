import { quoteIdentifier } from '../../db/quote.ts'
import type { ExposureClass } from './exposure.ts'
import { through } from './role-attributes.ts'

/** Matters only where a masked table has row security. */
export const bypassRowSecurity: ExposureClass = {
  code: 'BypassRowSecurity',
  async find({ sql, masked, book }) {
    const rows = await sql<{ oid: number }[]>`
      select oid::int8 as oid from pg_catalog.pg_class
      where relrowsecurity and oid = any(${masked.map(({ oid }) => oid)}::oid[])`
    const secured = new Set(rows.map(({ oid }) => oid))
    const objects = masked.filter(({ oid }) => secured.has(oid)).map(({ kind, name }) => ({ kind, name }))
    if (objects.length === 0) return []
    return [...book.roles.values()]
      .filter(({ bypassRls, superuser }) => bypassRls && !superuser)
      .flatMap((role) => {
        const roles = book.watchedBehind(role.name)
        if (roles.length === 0) return []
        return {
          code: 'BypassRowSecurity',
          severity: 'low' as const,
          objects,
          roles,
          explanation: `${quoteIdentifier(role.name)} has BYPASSRLS: in the tables themselves it reads the columns without a mask of every row, also of rows that a policy hides from it. Masked columns stay masked.${through(roles, role.name)}`,
          remedy: `ALTER ROLE ${quoteIdentifier(role.name)} NOBYPASSRLS`,
          rule: null,
        }
      })
  },
}
