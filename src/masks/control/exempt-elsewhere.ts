import type { Sql } from '../../db/sql.ts'
import { readPlace } from '../read/place.ts'

/** A role that the exempt list of another bound database names, on the same server. */
export interface ExemptElsewhere {
  /** Null: another role has the name by now, which is not exempt (ENF-194). */
  readonly name: string | null
  /** Of the role that the entry named last; null: there was none. */
  readonly oid: number | null
}

/** True for a role that is exempt in another database of the server. */
export type IsExemptElsewhere = (role: { readonly name: string; readonly oid: number }) => boolean

/** `list` reads the store: the roles that databases of a server exempt, apart from those of one. */
export function createExemptElsewhere(
  list: (system: string, databaseId: string) => Promise<readonly ExemptElsewhere[]>,
) {
  return async (sql: Sql, databaseId: string): Promise<IsExemptElsewhere> => {
    const [system = ''] = (await readPlace(sql)).split('/')
    const exempt = await list(system, databaseId)
    const names = new Set(exempt.map(({ name }) => name))
    const oids = new Set(exempt.map(({ oid }) => oid))
    return ({ name, oid }) => names.has(name) || oids.has(oid)
  }
}

export type ReadExemptElsewhere = ReturnType<typeof createExemptElsewhere>
