import { kind, type NamedObject } from './exposure.ts'

interface MissingRow {
  readonly oid: number
  readonly number: number
  /** The column has a default now, whose text is in the catalog too. */
  readonly hasDefault: boolean
}

interface Found {
  readonly relations: readonly NamedObject[]
  readonly columns: readonly string[]
  readonly hasDefault: boolean
  readonly roles: readonly string[]
}

/** Of one exposure: a table may have any number of partitions. */
const mostTables = 1000

/** A column that was added with a default has the value for older rows in the catalog, until the table is rewritten. */
export const missingValue = kind<Found>({
  code: 'MissingValue',
  severity: 'low',
  async read({ sql, oids, byOid, book }) {
    const rows = await sql<MissingRow[]>`
      select attrelid::int8 as oid, attnum::int4 as number, atthasdef as "hasDefault" from pg_catalog.pg_attribute
      where attrelid = any(${oids}::oid[]) and atthasmissing and not attisdropped order by attrelid, attnum`
    const hidden = rows.flatMap((row) => {
      const relation = byOid.get(row.oid)
      const column = relation?.hidden.find(({ number }) => number === row.number)
      return relation && column ? [{ ...row, relation, column: column.name }] : []
    })
    return [...Map.groupBy(hidden, ({ relation }) => relation.owner)].map(([owner, same]) => ({
      relations: [...new Set(same.map(({ relation }) => relation))].slice(0, mostTables),
      columns: [...new Set(same.map(({ column }) => column))],
      hasDefault: same.some((row) => row.hasDefault),
      roles: book.watched.filter((role) => !book.roles.get(role)?.superuser && !book.reaches(role, owner)),
    }))
  },
  describe: ({ relations, columns, hasDefault }) => ({
    objects: relations,
    explanation: `A masked column (${columns.join(', ')}) was added with a default, and pg_attribute, which every role may read, has its value for the rows from before. Rewriting the table removes it.${
      hasDefault
        ? ' The column still has a default, and the catalog shows its text as well: drop it where it is a value to hide.'
        : ''
    }`,
    remedy: relations.map(({ name }) => `VACUUM FULL ${name}`).join(';\n'),
  }),
})
