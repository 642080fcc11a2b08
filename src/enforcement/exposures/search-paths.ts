import { joinPath } from './definers.ts'
import type { Scene } from './exposure.ts'

/** Why names in a text can lead to objects of a masked role. */
export type PathReason = 'caller' | 'schema' | 'temporary'

/** A function in text, whose names PostgreSQL looks up when it runs. */
export interface TextRoutine {
  readonly signature: string
  readonly schema: string
  /** The schemas of its own search path; null where it has the caller's. */
  readonly path: readonly string[] | null
  /** The role whose rights or values are at stake: roles that can become it are left out. */
  readonly owner: string
  /** The masked roles that can have it run. */
  readonly callers: readonly string[]
}

export interface JudgedPath {
  readonly reason: PathReason
  readonly roles: readonly string[]
  readonly remedy: string
}

export const pathReasons: Readonly<Record<PathReason, string>> = {
  caller:
    'by the search path of the caller, which can put a schema with functions and operators of its own first.',
  schema: 'by a search path with a schema in which these roles may create functions, operators and tables.',
  temporary:
    'temporary tables and types of the caller come first, as the search path does not name pg_temp last.',
}

export interface Creators {
  /** The roles that may create objects in a schema, or the schema itself where there is none. */
  in(schema: string): readonly (string | null)[]
  /** The roles that may create temporary objects. */
  readonly temporary: readonly (string | null)[]
}

/** Null where names in the text lead to no object of a masked role. */
export function judgePath(scene: Scene, routine: TextRoutine, creators: Creators): JudgedPath | null {
  const { book } = scene
  const { owner, callers, signature } = routine
  const listMasked = (holders: readonly (string | null)[], roles: readonly string[]) =>
    roles.filter(
      (role) =>
        !book.roles.get(role)?.superuser &&
        !book.reaches(role, owner) &&
        holders.some((holder) => holder === null || book.reaches(role, holder)),
    )
  const makersIn = (schema: string) => listMasked(creators.in(schema), book.watched)
  const named = (routine.path ?? []).filter((name) => name !== 'pg_temp' && name !== 'pg_catalog')
  const set = (path: readonly string[]) => {
    const safe = [...new Set(path)].filter((schema) => makersIn(schema).length === 0)
    return `ALTER ROUTINE ${signature} SET search_path = ${joinPath([...(safe.length === 0 ? ['pg_catalog'] : safe), 'pg_temp'])}`
  }
  if (routine.path === null) {
    const usual = [routine.schema, ...(creators.in('public').length === 0 ? [] : ['public'])]
    return { reason: 'caller', roles: callers, remedy: set(usual) }
  }
  const makers = [...new Set(named.flatMap(makersIn))].sort()
  if (makers.length > 0) return { reason: 'schema', roles: makers, remedy: set(named) }
  const roles = routine.path.at(-1) === 'pg_temp' ? [] : listMasked(creators.temporary, callers)
  return roles.length === 0 ? null : { reason: 'temporary', roles, remedy: set(named) }
}

export async function readCreators({ sql }: Scene): Promise<Creators> {
  const rows = await sql<{ schema: string | null; privilege: string; grantee: string | null }[]>`
    with place as (
      select nspname::text as schema, nspowner as owner, coalesce(nspacl, pg_catalog.acldefault('n', nspowner)) as acl from pg_catalog.pg_namespace
      union all
      select null, datdba, coalesce(datacl, pg_catalog.acldefault('d', datdba)) from pg_catalog.pg_database
        where datname = pg_catalog.current_database()
    ), holder as (
      select schema, owner as oid, 'CREATE' as privilege from place
      union select schema, owner, 'TEMPORARY' from place where schema is null
      union select schema, x.grantee, x.privilege_type from place, pg_catalog.aclexplode(acl) x
        where x.privilege_type = 'CREATE' or schema is null and x.privilege_type = 'TEMPORARY'
    )
    select h.schema, h.privilege, r.rolname::text as grantee from holder h left join pg_catalog.pg_roles r on r.oid = h.oid
    where h.oid = 0 or r.oid is not null`
  const bySchema = Map.groupBy(rows, ({ schema }) => schema)
  const holders = (schema: string | null, wanted: string) =>
    (bySchema.get(schema) ?? []).filter(({ privilege }) => privilege === wanted).map(({ grantee }) => grantee)
  return {
    in: (schema) => holders(bySchema.has(schema) ? schema : null, 'CREATE'),
    temporary: holders(null, 'TEMPORARY'),
  }
}
