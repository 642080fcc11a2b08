import { quoteIdentifier } from '../../db/quote.ts'
import { quoteGrantee } from '../grants/grant-steps.ts'
import { type AclEntry, kind, type MaskedRelation, type Scene } from './exposure.ts'
import { joinStatements } from './role-book.ts'
import { type Place, readPlaces } from './writers.ts'

interface TableFacts {
  readonly oid: number
  readonly isForeign: boolean
  readonly hasRowSecurity: boolean
  /** Without row security they count for nothing yet. */
  readonly hasPolicies: boolean
  /** Stored generated columns. */
  readonly generated: readonly number[]
  /** Virtual ones, of which PostgreSQL prints no value. */
  readonly virtual: readonly number[]
  /** Columns of which an UPDATE may set a part: arrays, composite types, jsonb, domains over these. */
  readonly compound: readonly number[]
  /** BEFORE UPDATE triggers that may set a column to its former value. */
  readonly triggers: readonly string[]
}

/** Grant of a table or view; number 0: of all columns. */
interface Grant extends AclEntry {
  readonly via: number
  readonly number: number
}

/** Why an error shows a role a value that it did not write. */
type Way = 'named' | 'generated' | 'part' | 'trigger' | 'remote'

/** The ways that are open, each with the numbers of the columns that the error shows. */
type OpenWays = ReadonlyMap<Way, readonly number[]>

/** The columns of a table that a column of a view stands for. Undefined: it may be any. */
type Origins = (table: number, view: number, number: number) => readonly number[] | undefined

interface FailingRow extends TableFacts {
  /** Roles that are shown the same. */
  readonly groups: readonly { readonly roles: readonly string[]; readonly ways: OpenWays }[]
  readonly roles: readonly string[]
  readonly revokes: readonly string[]
}

/**
 * An error about a row that a constraint or a check option refuses prints the columns that the statement names, besides those
 * that the role may read: PostgreSQL takes these for the writer's own values. An upsert and a MERGE name columns that the failing
 * branch does not write. A role needs no constraint of the table for it, as it can create a view with a check option.
 */
export const failingRow = kind<FailingRow>({
  code: 'FailingRow',
  severity: 'high',
  async read(scene) {
    const tables = await readTables(scene)
    const places = await readPlaces(
      scene,
      tables.map((table) => {
        const { columns, printed } = splitColumns(scene, table)
        // A statement prints the columns of the table that it names, by the row security of that table: parents have their own row.
        return {
          oid: table.oid,
          kind: 'row',
          columns: printed,
          others: table.isForeign ? columns : printed,
          isAlone: !table.isForeign,
        }
      }),
      ['INSERT', 'UPDATE'],
    )
    const grants = Map.groupBy(await readGrants(scene, places), ({ via }) => via)
    const origins = await readOrigins(scene, places)
    const byTable = Map.groupBy(places, ({ at }) => at)
    return tables.map((table, at) => findWriters(scene, table, byTable.get(at) ?? [], grants, origins))
  },
  describe: ({ relation, ...row }) => ({
    objects: [
      relation,
      ...row.triggers.filter(() => row.groups.some(({ ways }) => ways.has('trigger'))).map(nameTrigger),
    ],
    explanation: explain(relation, row),
    remedy:
      row.isForeign || row.hasRowSecurity || row.hasPolicies ? joinStatements(row.revokes) : secure(relation),
  }),
})

const nameTrigger = (name: string) => ({ kind: 'trigger', name: quoteIdentifier(name) })

/** The policy comes first: between both statements no row is hidden. */
const secure = ({ name }: MaskedRelation) =>
  `CREATE POLICY masquerade_every_row ON ${name} FOR ALL USING (true) WITH CHECK (true);\nALTER TABLE ${name} ENABLE ROW LEVEL SECURITY`

function explain(relation: MaskedRelation, row: FailingRow): string {
  const listed = (numbers: readonly number[]) =>
    relation.hidden
      .filter(({ number }) => numbers.includes(number))
      .map(({ name }) => name)
      .join(', ')
  const reasons: Readonly<Record<Way, (columns: string) => string>> = {
    named: (columns) =>
      `INSERT … ON CONFLICT DO UPDATE and MERGE name ${columns} in one branch and change another column in the branch that fails`,
    generated: (columns) => `SET ${columns} = DEFAULT names a column that is computed from a masked one`,
    part: (columns) => `an UPDATE of a part of ${columns} leaves the rest of the value as it was`,
    trigger: (columns) => `a trigger may set ${columns} to its former value before the row is checked`,
    remote: (columns) =>
      `the server behind the foreign table prints the row as its own user may see it, with ${columns}`,
  }
  const explainWays = (ways: OpenWays) =>
    [...ways].map(([way, numbers]) => reasons[way](listed(numbers))).join('; ')
  const found =
    row.groups.length === 1
      ? row.groups.map(({ ways }) => `: ${explainWays(ways)}`)
      : row.groups.map(
          ({ roles, ways }) => `. ${roles.map(quoteIdentifier).join(', ')}: ${explainWays(ways)}`,
        )
  const ends = row.isForeign
    ? 'Revoking UPDATE ends it.'
    : row.hasRowSecurity
      ? 'The table has row security, which ends it for roles that cannot act with BYPASSRLS; these can. Revoking UPDATE or BYPASSRLS ends it.'
      : `Under row security PostgreSQL prints no row. ${
          row.hasPolicies
            ? 'The table has policies that count once it is on: look at them, then enable it, or revoke UPDATE.'
            : 'The remedy enables it with a policy that allows everything; revoking UPDATE on the table ends it too.'
        }`
  return `An error about a refused row prints each column that the statement names, as if the value were the writer's own. These roles may write the ${relation.kind}, and read raw values so${found.join('')}. ${ends}`
}

/** Its hidden columns, without those of which PostgreSQL prints no value, and all columns that a role may write. */
function splitColumns({ byOid }: Scene, { oid, virtual }: TableFacts) {
  const relation = byOid.get(oid)
  const printed = (relation?.hidden ?? []).filter(({ number }) => !virtual.includes(number))
  return { printed, columns: relation?.columns ?? [] }
}

/** The masked roles to which an error shows more than they wrote, and the statements that revoke UPDATE from them. */
function findWriters(
  scene: Scene,
  table: TableFacts,
  places: readonly Place[],
  grants: ReadonlyMap<number, readonly Grant[]>,
  origins: Origins,
): FailingRow {
  const { book, byOid } = scene
  const owner = byOid.get(table.oid)?.owner ?? ''
  const candidates = book.watched.filter(
    (role) => !book.roles.get(role)?.superuser && !book.reaches(role, owner),
  )
  const bypassers = [...book.roles.values()].filter((role) => role.bypassRls && !role.superuser)
  // Under row security PostgreSQL prints rows to roles that have BYPASSRLS themselves: it is not inherited.
  const isSecured = table.hasRowSecurity && !table.isForeign
  const listActors = (role: string) =>
    isSecured ? bypassers.map(({ name }) => name).filter((name) => book.reaches(role, name)) : [role]
  const shown = new Map<string, Map<Way, number[]>>()
  const revokes: string[] = []
  for (const place of places) {
    const granted = (grants.get(place.via) ?? []).filter(({ grantee }) => grantee !== place.owner)
    if (!granted.some(({ privilege }) => privilege === 'UPDATE')) continue
    const takenFrom = new Set<string>()
    for (const role of candidates)
      for (const actor of listActors(role)) {
        const held = granted.filter(({ grantee }) => grantee === null || book.reaches(actor, grantee))
        const open = findWays(scene, table, place, held, origins)
        if (open.length === 0) continue
        const ways = shown.get(role) ?? new Map<Way, number[]>()
        shown.set(role, ways)
        for (const [way, numbers] of open) ways.set(way, [...(ways.get(way) ?? []), ...numbers])
        for (const { privilege, grantee } of held)
          if (privilege === 'UPDATE') takenFrom.add(quoteGrantee(grantee))
      }
    if (takenFrom.size > 0)
      revokes.push(`REVOKE UPDATE ON ${place.name} FROM ${[...takenFrom].join(', ')} CASCADE`)
  }
  return { ...table, groups: groupRoles(shown), roles: [...shown.keys()], revokes }
}

function groupRoles(shown: ReadonlyMap<string, OpenWays>): FailingRow['groups'] {
  const keyOf = (ways: OpenWays) =>
    JSON.stringify(
      [...ways].map(([way, numbers]) => [way, [...new Set(numbers)].sort((a, b) => a - b)]).sort(),
    )
  const groups = Map.groupBy(shown, ([, ways]) => keyOf(ways)).values()
  return [...groups].flatMap(([first, ...more]) =>
    first ? [{ roles: [first, ...more].map(([role]) => role), ways: first[1] }] : [],
  )
}

function findWays(
  scene: Scene,
  table: TableFacts,
  place: Place,
  held: readonly Grant[],
  origins: Origins,
): [Way, readonly number[]][] {
  const { version } = scene
  const mayWrite = (wanted: string) => {
    const numbers = held.filter(({ privilege }) => privilege === wanted).map(({ number }) => number)
    return new Set(numbers.includes(0) ? place.all : numbers)
  }
  const updated = mayWrite('UPDATE')
  if (updated.size === 0) return []
  const { printed } = splitColumns(scene, table)
  const shown = printed.map(({ number }) => number)
  if (table.isForeign) return [['remote', shown]]
  const inserted = mayWrite('INSERT')
  // Two branches of one MERGE name columns for each other, so UPDATE alone is enough.
  const merges = version >= (place.isView ? 170000 : 150000)
  const mayName = (number: number) =>
    (inserted.has(number) || (merges && updated.has(number))) &&
    [...updated].some((other) => other !== number)
  const ofHidden = (numbers: readonly number[]) => numbers.filter((number) => shown.includes(number))
  /** Those of the columns that a statement which writes these names. */
  const behind = (numbers: readonly number[], columns: readonly number[]) => {
    if (!place.isView) return numbers.filter((number) => columns.includes(number))
    const found = numbers.map((number) => origins(table.oid, place.via, number))
    return columns.filter((column) => found.some((known) => known === undefined || known.includes(column)))
  }
  const updates = [...updated]
  const open: [Way, readonly number[]][] = [
    ['named', behind(place.all.filter(mayName), shown)],
    // PostgreSQL refuses SET … = DEFAULT for a generated column behind a view.
    ['generated', place.isView ? [] : behind(updates, ofHidden(table.generated))],
    ['part', behind(updates, ofHidden(table.compound))],
    ['trigger', table.triggers.length > 0 ? behind(updates, shown) : []],
  ]
  return open.filter(([, numbers]) => numbers.length > 0)
}

/** Of a trigger's function, in bytes: a longer one counts as one that keeps the former value. */
const mostText = 20_000

/** Triggers of partitions and children count: a statement on the parent fires them. */
function readTables({ sql, oids }: Scene): Promise<TableFacts[]> {
  return sql<TableFacts[]>`
    select c.oid::int8 as oid, c.relkind = 'f' as "isForeign", c.relrowsecurity as "hasRowSecurity",
      exists (select 1 from pg_catalog.pg_policy p where p.polrelid = c.oid) as "hasPolicies",
      array(select a.attnum::int4 from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attgenerated = 's') as generated,
      array(select a.attnum::int4 from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attgenerated = 'v') as virtual,
      array(select a.attnum::int4 from pg_catalog.pg_attribute a
        cross join lateral (with recursive base as (
          select y.* from pg_catalog.pg_type y where y.oid = a.atttypid
          union all select y.* from base b join pg_catalog.pg_type y on b.typtype = 'd' and y.oid = b.typbasetype
        ) select * from base where typtype <> 'd') y
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          and (y.typtype = 'c' or y.typelem <> 0 or coalesce(to_jsonb(y) ->> 'typsubscript', '-') <> '-')) as compound,
      array(with recursive below as (
          select c.oid union select i.inhrelid from below b join pg_catalog.pg_inherits i on i.inhparent = b.oid)
        select distinct t.tgname::text from below b join pg_catalog.pg_trigger t on t.tgrelid = b.oid
        join pg_catalog.pg_proc p on p.oid = t.tgfoid join pg_catalog.pg_language l on l.oid = p.prolang
        where not t.tgisinternal and t.tgenabled <> 'D' and (t.tgtype & 19) = 19
          and case when l.lanname <> 'plpgsql' or p.prosecdef or pg_catalog.octet_length(p.prosrc) > ${mostText} then true
            else p.prosrc ~* '\\yold\\y' end) as triggers
    from pg_catalog.pg_class c where c.oid = any(${oids}::oid[]) and c.relkind in ('r', 'p', 'f') order by 1`
}

function readGrants({ sql }: Scene, places: readonly Place[]): Promise<Grant[]> {
  return sql<Grant[]>`
    select distinct g.via::int8 as via, g.number::int4 as number, g.privilege, e.rolname::text as grantee from (
      select c.oid as via, 0 as number, x.grantee, x.privilege_type as privilege
      from pg_catalog.pg_class c cross join lateral pg_catalog.aclexplode(c.relacl) x
      union all select a.attrelid, a.attnum, x.grantee, x.privilege_type
      from pg_catalog.pg_attribute a cross join lateral pg_catalog.aclexplode(a.attacl) x
      where a.attnum > 0 and not a.attisdropped
    ) g left join pg_catalog.pg_roles e on e.oid = g.grantee
    where g.via = any(${places.map(({ via }) => via)}::oid[]) and g.privilege in ('INSERT', 'UPDATE')
      and (g.grantee = 0 or e.oid is not null) order by 1, 2, 3, 4`
}

/** Of the text of a view, in characters, and of views: what the columns of others stand for is not looked up. */
const mostDefinition = 100_000
const mostViews = 200

/** Follows views to the tables that they read, each text once. Triggers and rules of a view may write any column. */
async function readOrigins({ sql }: Scene, places: readonly Place[]): Promise<Origins> {
  const views = [...new Set(places.filter(({ isView }) => isView).map(({ via }) => via))]
  if (views.length === 0 || views.length > mostViews) return () => undefined
  const rows = await sql<{ via: number; number: number; at: number; origins: number[]; isPlain: boolean }[]>`
    with recursive entry as materialized (
      select w.ev_class as view, e.m[1]::int4 as number, e.m[2]::oid as at, e.m[3]::int4 as origin
      from pg_catalog.pg_rewrite w cross join lateral (select pg_catalog.regexp_matches(
        case when pg_catalog.length(w.ev_action::text) < ${mostDefinition} then w.ev_action::text else '' end,
        ':resno ([0-9]+) :resname (?:\\\\.|[^ \\\\])+ :ressortgroupref [0-9]+ :resorigtbl ([0-9]+) :resorigcol ([0-9]+)', 'g')) e(m)
      where w.ev_class = any(${views}::int8[]::oid[]) and w.rulename = '_RETURN'
    ), other as materialized (
      select c.oid from pg_catalog.pg_class c where c.oid = any(${views}::int8[]::oid[])
        and (c.relhastriggers or exists (select 1 from pg_catalog.pg_rewrite w where w.ev_class = c.oid
          and (w.rulename <> '_RETURN' or pg_catalog.length(w.ev_action::text) >= ${mostDefinition})))
    ), path as (
      select v.oid as via, a.attnum::int4 as number, v.oid as at, a.attnum::int4 as origin
      from pg_catalog.unnest(${views}::int8[]::oid[]) v(oid) join pg_catalog.pg_attribute a on a.attrelid = v.oid and a.attnum > 0
      union
      select p.via, p.number, e.at, e.origin from path p join entry e on e.view = p.at and e.number = p.origin where e.at <> 0
    )
    select p.via::int8 as via, p.number, p.at::int8 as at, pg_catalog.array_agg(distinct p.origin) as origins,
      p.at not in (select oid from other) as "isPlain"
    from path p group by p.via, p.number, p.at`
  const keyOf = (table: number, view: number, number: number) => `${table} ${view} ${number}`
  const opaque = new Set(rows.filter(({ isPlain }) => !isPlain).map(({ via }) => via))
  const known = new Map(rows.map(({ at, via, number, origins }) => [keyOf(at, via, number), origins]))
  // A definition in a form that is not understood leads to no table.
  const understood = new Set(rows.map(({ at, via }) => `${at} ${via}`))
  return (table, view, number) =>
    opaque.has(view) || !understood.has(`${table} ${view}`)
      ? undefined
      : (known.get(keyOf(table, view, number)) ?? [])
}
