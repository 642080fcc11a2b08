import { quoteIdentifier } from '../../db/quote.ts'
import type { Scene } from './exposure.ts'

/** Why names in a text can lead to objects of a masked role. */
export type PathReason = 'caller' | 'schema' | 'temporary'

export const pathReasons: Readonly<Record<PathReason, string>> = {
  caller:
    'by the search path of the caller, which can put a schema with functions and operators of its own first.',
  schema: 'by a search path with a schema in which masked roles may create functions, operators and tables.',
  temporary:
    'and temporary tables and types of the caller come first, as the search path does not name pg_temp last.',
}

/** A function in text, whose names PostgreSQL looks up when it runs. */
export interface TextRoutine {
  readonly signature: string
  readonly schema: string
  /** Its own `search_path`; null where it has the caller's. */
  readonly path: string | null
}

/** The functions whose names lead to objects of masked roles, each with the statement that sets another path. */
export async function judgePaths(scene: Scene, routines: readonly TextRoutine[]) {
  const bySignature = new Map(routines.map((one) => [one.signature, one]))
  const judged = [...bySignature.values()].map(({ signature, schema, path: setting }) => {
    const path = setting === null ? ['$user'] : splitPath(setting)
    const named = path.filter((name) => name !== 'pg_temp' && name !== 'pg_catalog')
    return { signature, path, named, wanted: path.includes('$user') ? [schema, 'public'] : named }
  })
  const { unsafe, isTemporary } = await readPlaces(scene, [
    ...new Set(judged.flatMap(({ wanted }) => wanted)),
  ])
  return judged.flatMap(({ signature, path, named, wanted }) => {
    const safe = [...new Set(wanted)].filter((schema) => !unsafe.includes(schema))
    const next = [...(safe.length === 0 ? ['pg_catalog'] : safe), 'pg_temp'].map(quoteIdentifier)
    const remedy = `ALTER ROUTINE ${signature} SET search_path = ${next.join(', ')}`
    const found = (reason: PathReason) => [{ signature, reason, remedy }]
    if (path.includes('$user')) return found('caller')
    if (named.some((schema) => unsafe.includes(schema))) return found('schema')
    return isTemporary && path.at(-1) !== 'pg_temp' ? found('temporary') : []
  })
}

/** Where masked roles may create objects: in which of the schemas, also by creating the schema, and temporary ones. */
async function readPlaces({ sql, book }: Scene, schemas: readonly string[]) {
  const [row] = await sql<{ unsafe: string[]; isTemporary: boolean }[]>`
    with maker as (select oid from pg_catalog.pg_roles where rolname = any(${book.makers}::text[]))
    select array(select s from unnest(${schemas}::text[]) s where exists (select from maker m where coalesce(
        has_schema_privilege(m.oid, to_regnamespace(quote_ident(s))::oid, 'CREATE'),
        has_database_privilege(m.oid, current_database(), 'CREATE')))) as unsafe,
      exists (select from maker m where has_database_privilege(m.oid, current_database(), 'TEMP')) as "isTemporary"`
  return row ?? { unsafe: [], isTemporary: false }
}

/** As PostgreSQL reads a list of names; an empty name stands for no schema. */
function splitPath(setting: string): string[] {
  const parts = setting.match(/"(?:[^"]|"")*"|[^\s,"]+/g) ?? []
  return parts
    .map((part) => (part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.toLowerCase()))
    .filter((name) => name !== '')
}
