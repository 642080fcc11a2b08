import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { aclEntries, findMaskedGrantees } from './acl-entries.ts'
import { type AclEntry, type ExposureKind, kind, type NamedObject, type Scene } from './exposure.ts'
import { joinStatements } from './role-book.ts'
import { listSeers } from './seers.ts'

interface CodeGrant {
  readonly code: string
  readonly privilege: 'REFERENCES' | 'TRIGGER'
  readonly relkinds: readonly string[]
  explain(owner: string): string
  /** Relations that another kind lists already. */
  without(scene: Scene): readonly number[]
  /** The test of a role that holds the privilege: whether it can use it. */
  readUsers(scene: Scene): Promise<(role: string) => boolean>
}

/** Privileges on tables, masked or not, by which code of the holder runs with the rights of another role. */
const codeGrants: readonly CodeGrant[] = [
  {
    code: 'ReferencesCode',
    privilege: 'REFERENCES',
    relkinds: ['r', 'p'],
    explain: (owner) =>
      `PostgreSQL checks a foreign key as the owner of the table that it refers to, here ${owner}, whose rights lead to raw values. REFERENCES lets these roles make such a key, with a cast of their own between the columns: the function of the cast runs as ${owner}. GRANT ALL includes REFERENCES.`,
    without: () => [],
    readUsers: readTableMakers,
  },
  {
    code: 'TriggerCode',
    privilege: 'TRIGGER',
    relkinds: ['r', 'p', 'v', 'f'],
    explain: (owner) =>
      `TRIGGER lets these roles put a function of their own on a relation of ${owner}, whose rights lead to raw values. PostgreSQL runs the function as the role that writes, such as ${owner}. GRANT ALL includes TRIGGER.`,
    without: ({ tables }) => tables,
    readUsers: async () => () => true,
  },
]

interface RelationRow {
  readonly owner: string
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly whole: readonly AclEntry[]
  readonly columns: readonly { readonly name: string; readonly acl: readonly AclEntry[] }[]
}

interface GrantsOfOwner {
  readonly owner: string
  readonly relations: readonly NamedObject[]
  readonly roles: readonly string[]
  readonly remedies: readonly string[]
}

export const codeGrantKinds: readonly ExposureKind[] = codeGrants.map((grant) =>
  kind<GrantsOfOwner>({
    code: grant.code,
    severity: 'high',
    async read(scene) {
      const rows = await readGrants(scene, grant)
      if (rows.length === 0) return []
      const canUse = await grant.readUsers(scene)
      return [...Map.groupBy(rows, ({ owner }) => owner)].map(([owner, relations]) =>
        summarize(scene, grant, owner, relations, canUse),
      )
    },
    describe: ({ owner, relations, remedies }) => ({
      objects: relations,
      explanation: grant.explain(quoteIdentifier(owner)),
      remedy: joinStatements(remedies),
    }),
  }),
)

/** A column counts where a foreign key can refer to it: in a unique index that has neither condition nor expression. */
function readGrants(scene: Scene, { privilege, relkinds, without }: CodeGrant): Promise<RelationRow[]> {
  const { sql } = scene
  const isReferred = privilege === 'REFERENCES'
  return sql<RelationRow[]>`
    select o.rolname::text as owner, n.nspname::text as schema, c.relname::text as name,
      case c.relkind when 'v' then 'view' when 'f' then 'foreign table' else 'table' end as kind,
      ${aclEntries(sql, sql`c.relacl`, [privilege])} as whole,
      coalesce((select jsonb_agg(jsonb_build_object('name', a.attname, 'acl', ${aclEntries(sql, sql`a.attacl`, [privilege])}))
        from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attacl is not null and a.attnum = any(keys.numbers)), '[]') as columns
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_roles o on o.oid = c.relowner
    cross join lateral (select array(select k from pg_catalog.pg_index x, unnest(x.indkey::int2[]) k
      where ${isReferred} and x.indrelid = c.oid and (x.indisunique or x.indisexclusion) and x.indimmediate
        and x.indpred is null and x.indexprs is null) as numbers) keys
    where o.rolname = any(${listSeers(scene)}::text[]) and c.relkind = any(${relkinds}::"char"[])
      and c.relpersistence <> 't' and n.nspname !~ '^(pg_|information_schema$)' and c.oid <> all(${without(scene)}::oid[])
      and (not ${isReferred} or cardinality(keys.numbers) > 0)
      and (c.relacl is not null or exists (select 1 from pg_catalog.pg_attribute a
        where a.attrelid = c.oid and a.attacl is not null and a.attnum = any(keys.numbers)))
    order by 1, 2, 3`
}

/** One exposure for the relations of one owner: GRANT ALL on a schema opens thousands of them. */
function summarize(
  scene: Scene,
  { privilege }: CodeGrant,
  owner: string,
  rows: readonly RelationRow[],
  canUse: (role: string) => boolean,
): GrantsOfOwner {
  const found = rows.flatMap(({ schema, name, kind, whole, columns }) => {
    const relation = { kind, name: quoteQualified(schema, name) }
    const places = [
      { place: privilege, acl: whole },
      ...columns.map((column) => ({
        place: `${privilege} (${quoteIdentifier(column.name)})`,
        acl: column.acl,
      })),
    ]
    return places.flatMap(({ place, acl }) => {
      const grantees = findMaskedGrantees(scene, acl, owner)
      const roles = grantees?.roles.filter(canUse) ?? []
      return grantees && roles.length > 0 ? [{ relation, place, list: grantees.list, roles }] : []
    })
  })
  const revokes = Map.groupBy(found, ({ place, list }) => JSON.stringify([place, list]))
  return {
    owner,
    relations: [...new Set(found.map(({ relation }) => relation))],
    roles: [...new Set(found.flatMap(({ roles }) => roles))].sort(),
    remedies: [...revokes.values()].map((same) => {
      const names = same.map(({ relation }) => relation.name).join(', ')
      return `REVOKE ${same[0]?.place} ON ${names} FROM ${same[0]?.list} CASCADE`
    }),
  }
}

/** A foreign key takes a table that is not temporary: one of the role's own, or a schema to create it in. */
async function readTableMakers({ sql, book }: Scene): Promise<(role: string) => boolean> {
  const rows = await sql<{ maker: string | null }[]>`
    with place as (
      select nspowner as owner, coalesce(nspacl, pg_catalog.acldefault('n', nspowner)) as acl from pg_catalog.pg_namespace
        where nspname !~ '^(pg_|information_schema$)'
      union all
      select datdba, coalesce(datacl, pg_catalog.acldefault('d', datdba)) from pg_catalog.pg_database
        where datname = pg_catalog.current_database()
    ), maker as (
      select owner as oid from place
      union select x.grantee from place, pg_catalog.aclexplode(acl) x where x.privilege_type = 'CREATE'
      union select relowner from pg_catalog.pg_class where relkind in ('r', 'p') and relpersistence <> 't'
    )
    select r.rolname::text as maker from maker m left join pg_catalog.pg_roles r on r.oid = m.oid
    where m.oid = 0 or r.oid is not null`
  const makers = rows.map(({ maker }) => maker)
  const known = new Map<string, boolean>()
  return (role) => {
    const can = known.get(role) ?? makers.some((maker) => maker === null || book.reaches(role, maker))
    known.set(role, can)
    return can
  }
}
