import { quoteIdentifier } from '../../db/quote.ts'
import { type Definer, joinPath, readDefiners } from './definers.ts'
import { kind, type NamedObject, type Scene } from './exposure.ts'

/** Why names in the body can lead to objects of a masked role. */
type Reason = 'caller' | 'schema' | 'temporary'

interface Found {
  readonly reason: Reason
  readonly lender: string
  readonly routines: readonly NamedObject[]
  readonly remedies: readonly string[]
  readonly roles: readonly string[]
}

/**
 * A body in text has its names looked up when it runs, by the caller's search path unless the function sets its own. A masked role that
 * chooses the path, or may create objects in a schema of it, chooses the functions, operators, types and tables. Temporary tables and types
 * come before all others, unless the path names pg_temp last.
 */
export const definerSearchPath = kind<Found>({
  code: 'DefinerSearchPath',
  severity: 'high',
  async read(scene) {
    const definers = (await readDefiners(scene)).filter(({ isBound }) => !isBound)
    if (definers.length === 0) return []
    const creators = await readCreators(scene)
    const found = definers.flatMap((definer) => judge(scene, definer, creators))
    // One for all functions of an owner: there may be thousands.
    const groups = Map.groupBy(found, ({ reason, definer, roles }) =>
      JSON.stringify([reason, definer.owner, roles]),
    )
    return [...groups.values()].flatMap((same) => {
      const [first] = same
      if (!first) return []
      return {
        reason: first.reason,
        lender: first.definer.owner,
        roles: first.roles,
        routines: same.map(({ definer }) => ({ kind: definer.kind, name: definer.signature })),
        remedies: same.map(({ remedy }) => remedy),
      }
    })
  },
  describe: ({ reason, lender, routines, remedies }) => ({
    severity: reason === 'temporary' ? 'medium' : 'high',
    objects: routines,
    explanation: `${routines.length === 1 ? 'It runs' : 'They run'} with the privileges of ${quoteIdentifier(lender)}, whose rights lead to raw values, and PostgreSQL looks names in the text up at run time: ${reasons[reason]} Code of these roles then runs as ${quoteIdentifier(lender)}. The remedy sets a path that these roles cannot change; names in other schemas have to be qualified.`,
    remedy: remedies.join(';\n'),
  }),
})

const reasons: Readonly<Record<Reason, string>> = {
  caller:
    'by the search path of the caller, which can put a schema with functions and operators of its own first.',
  schema: 'by a search path with a schema in which these roles may create functions, operators and tables.',
  temporary:
    'temporary tables and types of the caller come first, as the search path does not name pg_temp last.',
}

interface Creators {
  /** The roles that may create objects in a schema, or the schema itself where there is none. */
  in(schema: string): readonly (string | null)[]
  /** The roles that may create temporary objects. */
  readonly temporary: readonly (string | null)[]
}

interface Judged {
  readonly reason: Reason
  readonly definer: Definer
  readonly roles: readonly string[]
  readonly remedy: string
}

function judge(scene: Scene, definer: Definer, creators: Creators): Judged[] {
  const { book } = scene
  const { owner, callers, signature } = definer
  const listMasked = (holders: readonly (string | null)[], roles: readonly string[]) =>
    roles.filter(
      (role) =>
        !book.roles.get(role)?.superuser &&
        !book.reaches(role, owner) &&
        holders.some((holder) => holder === null || book.reaches(role, holder)),
    )
  const makersIn = (schema: string) => listMasked(creators.in(schema), book.watched)
  const fill = (path: readonly string[]) => path.map((name) => (name === '$user' ? owner : name))
  const named = fill(definer.path ?? []).filter((name) => name !== 'pg_temp' && name !== 'pg_catalog')
  const set = (path: readonly string[]) => {
    const safe = [...new Set(path)].filter((schema) => makersIn(schema).length === 0)
    return `ALTER ROUTINE ${signature} SET search_path = ${joinPath([...(safe.length === 0 ? ['pg_catalog'] : safe), 'pg_temp'])}`
  }
  if (definer.path === null) {
    const usual = [definer.schema, ...(creators.in('public').length === 0 ? [] : ['public'])]
    return [{ reason: 'caller', definer, roles: callers, remedy: set(usual) }]
  }
  const makers = [...new Set(named.flatMap(makersIn))].sort()
  if (makers.length > 0) return [{ reason: 'schema', definer, roles: makers, remedy: set(named) }]
  const roles = definer.path.at(-1) === 'pg_temp' ? [] : listMasked(creators.temporary, callers)
  return roles.length === 0 ? [] : [{ reason: 'temporary', definer, roles, remedy: set(named) }]
}

async function readCreators({ sql }: Scene): Promise<Creators> {
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
