import { quoteIdentifier } from '../../db/quote.ts'
import { selectGuard } from '../guard/find-guard.ts'
import { aclEntries, findMaskedGrantees, writerEntries } from './acl-entries.ts'
import { readSeeing } from './definer-functions.ts'
import type { AclEntry, Grantees, Scene } from './exposure.ts'
import { listSeers } from './seers.ts'

/** A SECURITY DEFINER function of a role that sees raw values, which masked roles can have run. */
export interface Definer {
  readonly id: number
  readonly signature: string
  readonly kind: 'function' | 'procedure'
  readonly schema: string
  readonly owner: string
  /** The schemas of its own search path; null where it has the caller's. */
  readonly path: readonly string[] | null
  /** Names in its body were looked up when it was made, and it calls no function in whose body they are not. */
  readonly isBound: boolean
  /** Its body, unless names in it are bound. */
  readonly text: string
  /** The masked roles that may call it, or write a table whose trigger it is. */
  readonly callers: readonly string[]
  /** Of EXECUTE: null where masked roles may not call it themselves. */
  readonly grantees: Grantees | null
}

interface DefinerRow extends Omit<Definer, 'path' | 'callers' | 'grantees'> {
  readonly setting: string | null
  readonly acl: readonly AclEntry[]
  readonly fired: readonly AclEntry[]
}

/** Of a body, in bytes, and of all together: a longer one is listed as one whose text cannot be searched. */
const mostText = 100_000
const mostTexts = 16_000_000

/** Several kinds of exposures ask for the same. */
const known = new WeakMap<Scene, Promise<Definer[]>>()

export function readDefiners(scene: Scene): Promise<Definer[]> {
  const found = known.get(scene) ?? readThem(scene)
  known.set(scene, found)
  return found
}

/** Functions in C are left out: names in them are not looked up by a search path. */
async function readThem(scene: Scene): Promise<Definer[]> {
  const { sql, version } = scene
  const isOurs = sql`p.prosecdef and p.prokind in ('f', 'p') and l.lanname not in ('c', 'internal')
    and n.nspname !~ '^(pg_|information_schema$)' and n.oid is distinct from (select oid from (${selectGuard(sql)}) g)`
  const owners = await sql<{ name: string }[]>`
    select distinct o.rolname::text as name from pg_catalog.pg_proc p join pg_catalog.pg_roles o on o.oid = p.proowner
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace join pg_catalog.pg_language l on l.oid = p.prolang where ${isOurs}`
  if (owners.length === 0) return []
  const names = owners.map(({ name }) => name)
  const seers = new Set([...listSeers(scene), ...(await readSeeing(scene, names))])
  const hasTree = version >= 140000 ? sql`p.prosqlbody is not null` : sql`false`
  const isLoose =
    version >= 140000 ? sql`g.prosqlbody is null and gl.lanname not in ('c', 'internal')` : sql`true`
  const rows = await sql<DefinerRow[]>`
    select p.oid::int8 as id, p.oid::regprocedure::text as signature, n.nspname::text as schema, o.rolname::text as owner,
      case p.prokind when 'p' then 'procedure' else 'function' end as kind,
      (select pg_catalog.substr(s, 13) from unnest(p.proconfig) s where s like 'search\\_path=%') as setting,
      ${hasTree} and not exists (select 1 from pg_catalog.pg_depend d join pg_catalog.pg_proc g on g.oid = d.refobjid
        join pg_catalog.pg_language gl on gl.oid = g.prolang
        where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.refclassid = 'pg_catalog.pg_proc'::regclass
          and ${isLoose} and not exists (select 1 from unnest(g.proconfig) s where s like 'search\\_path=%')) as "isBound",
      case when not (${hasTree}) and pg_catalog.sum(m.size) over (order by m.size, p.oid) <= ${mostTexts}
        then pg_catalog.left(p.prosrc, ${mostText}) else '' end as text,
      ${aclEntries(sql, sql`coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))`, ['EXECUTE'])} as acl,
      case when p.prorettype = 'pg_catalog.trigger'::regtype then coalesce((
        select jsonb_agg(distinct e) from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
        join pg_catalog.pg_roles w on w.oid = c.relowner
        cross join lateral jsonb_array_elements(jsonb_build_object('grantee', w.rolname, 'privilege', 'INSERT') ||
          ${writerEntries(sql, sql`array(select k.attnum from pg_catalog.pg_attribute k where k.attrelid = c.oid)`, ['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'])}) e
        where t.tgfoid = p.oid and t.tgenabled <> 'D'), '[]')
      when exists (select 1 from pg_catalog.pg_event_trigger e where e.evtfoid = p.oid and e.evtenabled <> 'D')
        then jsonb_build_array(jsonb_build_object('grantee', null, 'privilege', 'EXECUTE'))
      else '[]' end as fired
    from pg_catalog.pg_proc p join pg_catalog.pg_roles o on o.oid = p.proowner
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace join pg_catalog.pg_language l on l.oid = p.prolang
    cross join lateral (select least(pg_catalog.octet_length(p.prosrc), ${mostText}) as size) m
    where ${isOurs} and o.rolname = any(${[...seers]}::text[]) order by 2`
  return rows.flatMap(({ setting, acl, fired, ...row }) => {
    const callers = findMaskedGrantees(scene, [...acl, ...fired], row.owner)?.roles ?? []
    return callers.length === 0
      ? []
      : [
          {
            ...row,
            callers,
            grantees: findMaskedGrantees(scene, acl, row.owner),
            path: setting === null ? null : splitPath(setting),
          },
        ]
  })
}

/** As PostgreSQL reads a list of names; an empty name stands for no schema. */
export function splitPath(setting: string): string[] {
  const parts = setting.match(/"(?:[^"]|"")*"|[^\s,"]+/g) ?? []
  return parts
    .map((part) => (part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.toLowerCase()))
    .filter((name) => name !== '')
}

export const joinPath = (path: readonly string[]): string => path.map(quoteIdentifier).join(', ')
