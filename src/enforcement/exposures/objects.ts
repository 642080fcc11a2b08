import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import { writerEntries } from './acl-entries.ts'
import {
  type AclEntry,
  type ExposureKind,
  type Findings,
  kind,
  type MaskedRelation,
  type NamedObject,
  type Scene,
} from './exposure.ts'
import { printEach } from './print-each.ts'
import { listSeers } from './seers.ts'

/** Of a trigger's function, in bytes: a longer one counts as one that writes. */
const mostText = 20_000

/** Views that show raw values with the rights of their owners, and that the role of the binding may not manage. */
const listUnmanagedViews = ({ unmanaged }: Scene) => unmanaged.filter(({ holdsData }) => !holdsData)

interface TriggerRow extends Findings {
  readonly name: string
  readonly routine: string
  readonly writes: boolean
}

/** A trigger gets whole rows, raw, and may write them where every role can read them. */
const trigger = kind<TriggerRow & { relation: MaskedRelation }>({
  code: 'Trigger',
  severity: 'low',
  async read(scene) {
    const { sql, masked } = scene
    const relations = new Map([...masked, ...listUnmanagedViews(scene)].map((one) => [one.oid, one]))
    const rows = await sql<(TriggerRow & { oid: number })[]>`
    select t.tgrelid::int8 as oid, t.tgname::text as name, p.oid::regprocedure::text as routine,
      case when l.lanname <> 'plpgsql' or pg_catalog.octet_length(p.prosrc) > ${mostText} then true
        else p.prosrc ~* '\\y(insert|update|copy|notify|pg_notify|raise|execute|perform)\\y' end as writes
    from pg_catalog.pg_trigger t join pg_catalog.pg_proc p on p.oid = t.tgfoid
    join pg_catalog.pg_language l on l.oid = p.prolang
    where not t.tgisinternal and t.tgenabled <> 'D' and (t.tgtype & 1) = 1 and t.tgrelid = any(${[...relations.keys()]}::oid[])
    order by 1, 2`
    return rows.flatMap(({ oid, ...row }) => {
      const relation = relations.get(oid)
      return relation ? [{ ...row, relation }] : []
    })
  },
  describe: ({ relation, name, routine, writes }) => {
    return {
      severity: writes ? 'medium' : 'low',
      objects: [{ kind: 'trigger', name: quoteIdentifier(name) }, relation],
      explanation: `The trigger runs ${routine} for each row that is written and hands it the raw values. ${
        writes
          ? 'Its text writes, notifies or raises, or is too long to be searched: look where the values go and mask them there too.'
          : 'Its text only changes the row itself: look whether it copies a masked column into another one.'
      }`,
      remedy: removeFrom(relation, 'TRIGGER', name),
    }
  },
})

/** PostgreSQL disables neither triggers nor rules of views. */
function removeFrom({ kind, name: relation }: NamedObject, what: 'TRIGGER' | 'RULE', name: string): string {
  const own = quoteIdentifier(name)
  return kind === 'view'
    ? `DROP ${what} ${own} ON ${relation}`
    : `ALTER TABLE ${relation} DISABLE ${what} ${own}`
}

/** A rule rewrites the statements that roles send to the table; its own part runs with the rights of the table's owner. */
const rewriteRule = kind<{ oid: number; name: string }>({
  code: 'RewriteRule',
  severity: 'medium',
  read: ({ sql, oids }) => sql`
    select ev_class::int8 as oid, rulename::text as name from pg_catalog.pg_rewrite
    where rulename <> '_RETURN' and ev_enabled <> 'D' and ev_class = any(${oids}::oid[]) order by 1, 2`,
  describe: ({ relation, name }) => ({
    objects: [{ kind: 'rule', name: quoteIdentifier(name) }, relation],
    explanation: `The rule adds to, or replaces, statements on the ${relation.kind}, and runs with the privileges of its owner: it can return or copy the raw values of the rows concerned.`,
    remedy: removeFrom(relation, 'RULE', name),
  }),
})

/** The same for a rule of a relation that has no mask itself, or cannot have one. */
const otherRule = kind<{ rule: string; on: NamedObject; owner: string; acl: readonly AclEntry[] }>({
  code: 'RewriteRule',
  severity: 'medium',
  async read(scene) {
    const { sql, oids } = scene
    const views = listUnmanagedViews(scene).map(({ oid }) => oid)
    const rows = await sql<OtherRule[]>`
      select w.rulename::text as rule, n.nspname::text as schema, c.relname::text as name, o.rolname::text as owner,
        case c.relkind when 'v' then 'view' when 'f' then 'foreign table' else 'table' end as kind,
        ${writerEntries(sql, sql`array(select k.attnum from pg_catalog.pg_attribute k where k.attrelid = c.oid)`, ['INSERT', 'UPDATE', 'DELETE'])} as acl
      from pg_catalog.pg_rewrite w join pg_catalog.pg_class c on c.oid = w.ev_class
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_roles o on o.oid = c.relowner and o.rolname = any(${listSeers(scene)}::text[])
      where w.rulename <> '_RETURN' and w.ev_enabled <> 'D' and c.oid <> all(${oids}::oid[]) and (c.oid = any(${views}::oid[])
        or exists (select 1 from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
          and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = any(${[...oids, ...views]}::oid[])))
      order by 2, 3, 1`
    return rows.map(({ rule, schema, name, kind, owner, acl }) => ({
      rule,
      on: { kind, name: quoteQualified(schema, name) },
      owner,
      acl,
    }))
  },
  describe: ({ rule, on, owner }) => ({
    objects: [{ kind: 'rule', name: quoteIdentifier(rule) }, on],
    explanation: `The rule adds to, or replaces, statements on the ${on.kind}, which these roles may write. It acts on masked relations with the privileges of ${quoteIdentifier(owner)}, which lead to raw values: it can return or copy them.`,
    remedy: removeFrom(on, 'RULE', rule),
  }),
})

interface OtherRule {
  readonly rule: string
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly owner: string
  readonly acl: readonly AclEntry[]
}

/** A published column arrives raw at every subscriber. */
const publication = kind<{
  oid: number
  keys: readonly number[]
  name: string
  all: boolean
  schema: string
  listed: boolean
}>({
  code: 'Publication',
  severity: 'medium',
  // Not by pg_publication_tables: since 16 it locks every published table, and another role may hold a lock on one of its own.
  read: ({ sql, version, oids }) => {
    // Up to 14 a publication has neither lists of columns nor schemas.
    const columns = version >= 150000 ? sql`l.prattrs::int2[]` : sql`null::int2[]`
    const isInSchema = sql`exists (select 1 from pg_catalog.pg_publication_namespace s join pg_catalog.pg_class k on k.relnamespace = s.pnnspid
      where s.pnpubid = p.oid and k.oid = x.oid)`
    const isGeneratedSent = version >= 180000 ? sql`p.pubgencols = 's' and a.attgenerated = 's'` : sql`false`
    return sql`
    select p.pubname::text as name, c.oid::int8 as oid, p.puballtables as all, n.nspname::text as schema, l.oid is not null as listed,
      array(select a.attnum::int4 from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        and coalesce(a.attnum = any(${columns}), a.attgenerated = '' or ${isGeneratedSent})) as keys
    from pg_catalog.pg_publication p
    join pg_catalog.pg_class c on c.oid = any(${oids}::oid[]) and c.relkind in ('r', 'p') and c.relpersistence = 'p'
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_publication_rel l on l.prpubid = p.oid and l.prrelid = c.oid
    cross join lateral (
      select coalesce(bool_or(x.oid = c.oid), false) as itself, coalesce(bool_or(x.oid <> c.oid), false) as above
      from (select c.oid union select a.relid from pg_catalog.pg_partition_ancestors(c.oid) a) x
      where exists (select 1 from pg_catalog.pg_publication_rel r where r.prpubid = p.oid and r.prrelid = x.oid)
        or ${version >= 150000 ? isInSchema : sql`false`}
    ) published
    -- Changes of partitions are sent as those of the table above, where the publication says so, and as their own otherwise.
    where case when p.pubviaroot then p.puballtables and not c.relispartition or published.itself and not published.above
      else c.relkind = 'r' and (p.puballtables or published.itself or published.above) end
    order by 1, 2`
  },
  describe: ({ relation, keys, name, all, schema, listed }, { book }) => {
    const own = quoteIdentifier(name)
    const shown = relation.hidden.filter(({ number }) => keys.includes(number))
    const withoutTable = listed
      ? `ALTER PUBLICATION ${own} DROP TABLE ${relation.name}`
      : `ALTER PUBLICATION ${own} DROP TABLES IN SCHEMA ${quoteIdentifier(schema)}`
    return {
      objects: [{ kind: 'publication', name: own }, relation],
      roles: book.watched.filter((role) => book.roles.get(role)?.replication),
      explanation: `The publication carries ${shown.map((column) => column.name).join(', ')} raw to every subscriber, where these masks do not exist. Publish without these columns, or mask the subscribers' databases too.`,
      remedy: all ? `DROP PUBLICATION ${own}` : withoutTable,
    }
  },
})

/** Of the conditions of all policies together, in bytes as the server stores them: shorter ones are read first. */
const mostConditions = 16_000_000

interface PolicyRow {
  readonly oid: number
  readonly name: string
  readonly meant: readonly string[]
  readonly using: string | null
  readonly check: string | null
  /** False: the conditions of all policies together are too long to read, or PostgreSQL cannot print this one. */
  readonly isPrinted: boolean
  readonly roles: readonly string[]
}

/** A twin reads its table as its owner, so policies for certain roles are not those of the reader. */
const rowPolicy = kind<PolicyRow>({
  code: 'RowPolicyByRole',
  severity: 'low',
  async read({ sql, oids, book }) {
    const rows = await sql<(Pick<PolicyRow, 'oid' | 'name' | 'meant'> & { id: number; isLong: boolean })[]>`
      select p.oid::int8 as id, p.polrelid::int8 as oid, p.polname::text as name, p.is_long as "isLong",
        array(select rolname::text from pg_catalog.pg_roles where oid = any(p.polroles) order by 1) as meant
      from (
        select q.*, pg_catalog.sum(m.size) over (order by m.size, q.oid) > ${mostConditions} as is_long
        from pg_catalog.pg_policy q join pg_catalog.pg_class c on c.oid = q.polrelid and c.relrowsecurity
        cross join lateral (select coalesce(pg_catalog.octet_length(q.polqual::text), 0)
          + coalesce(pg_catalog.octet_length(q.polwithcheck::text), 0) as size) m
        where q.polpermissive and q.polcmd in ('r', '*') and 0 <> all(q.polroles) and q.polrelid = any(${oids}::oid[])
      ) p order by 2, 3`
    const printed = await printEach(
      sql,
      rows.filter(({ isLong }) => !isLong).map(({ id }) => id),
      (ids) => sql<(Pick<PolicyRow, 'using' | 'check'> & { id: number })[]>`
        select oid::int8 as id, pg_catalog.pg_get_expr(polqual, polrelid) as using, pg_catalog.pg_get_expr(polwithcheck, polrelid) as check
        from pg_catalog.pg_policy where oid = any(${ids}::int8[]::oid[])`,
    )
    return rows.map((row) => ({
      ...row,
      using: printed.get(row.id)?.using ?? null,
      check: printed.get(row.id)?.check ?? null,
      isPrinted: printed.has(row.id),
      roles: [...new Set(row.meant.flatMap((role) => book.watchedBehind(role)))],
    }))
  },
  describe: ({ relation, ...row }) => ({
    objects: [{ kind: 'policy', name: quoteIdentifier(row.name) }, relation],
    explanation:
      'The policy lets certain roles see rows. The twin reads the table as its owner, for whom the policy does not count: through the twin these roles miss the rows. Nothing more is shown than before.',
    remedy: row.isPrinted ? makePublic(relation.name, row) : null,
  }),
})

/** The same policy for every role, with its roles in the condition: current_user is the reader, in a twin as well. */
function makePublic(table: string, { name, meant, using, check }: PolicyRow): string {
  const member = meant
    .map((role) => `pg_catalog.pg_has_role(current_user, ${quoteLiteral(role)}, 'USAGE')`)
    .join(' OR ')
  const condition = (expression: string) => `((${member}) AND (${expression}))`
  const parts = [
    ...(using === null ? [] : [`USING ${condition(using)}`]),
    ...(check === null ? [] : [`WITH CHECK ${condition(check)}`]),
  ]
  return `ALTER POLICY ${quoteIdentifier(name)} ON ${table} TO PUBLIC ${parts.join(' ')}`
}

/**
 * Extended statistics hold samples of values. Current servers show them to the owner of the table alone, but a database
 * that was made before the fix keeps the old views until an operator replaces them.
 */
const extendedStatistics = kind<{ oid: number; schema: string; name: string }>({
  code: 'ExtendedStatistics',
  severity: 'high',
  read: ({ sql, oids }) => sql`
    select s.stxrelid::int8 as oid, n.nspname::text as schema, s.stxname::text as name
    from pg_catalog.pg_statistic_ext s join pg_catalog.pg_namespace n on n.oid = s.stxnamespace
    where s.stxrelid = any(${oids}::oid[]) and pg_catalog.has_table_privilege('public', 'pg_catalog.pg_stats_ext_exprs', 'SELECT')
      and pg_catalog.pg_get_viewdef('pg_catalog.pg_stats_ext_exprs'::regclass) !~ 'pg_has_role'
    order by 1, 3`,
  describe: ({ relation, schema, name }, { book }) => ({
    objects: [{ kind: 'statistics', name: quoteQualified(schema, name) }, relation],
    roles: book.watched,
    explanation:
      'This database was made by a server whose views of extended statistics show sampled values to every role (CVE-2024-4317), and the views were never replaced. The server brings fix-CVE-2024-4317.sql for that; without the statistics there is nothing to see.',
    remedy: `DROP STATISTICS ${quoteQualified(schema, name)}`,
  }),
})

/** The bounds of partitions are in the catalog, which every role reads. */
const partitionBounds = kind<{ oid: number; keys: readonly number[]; roles: readonly string[] }>({
  code: 'PartitionBounds',
  severity: 'low',
  async read({ sql, oids, book }) {
    const rows = await sql<{ oid: number; keys: number[] }[]>`
      select partrelid::int8 as oid, array(select unnest(partattrs)::int4) as keys
      from pg_catalog.pg_partitioned_table where partrelid = any(${oids}::oid[]) order by 1`
    return rows.map((row) => ({ ...row, roles: book.watched }))
  },
  describe: ({ relation, column }) => ({
    objects: [relation],
    explanation: `The table is partitioned by the masked column ${column.name}. The bounds of each partition are in the catalog, which every role may read, so the partition that holds a row gives away the range or list that its value is in. Partition by another column.`,
  }),
})

export const objectKinds: readonly ExposureKind[] = [
  trigger,
  rewriteRule,
  otherRule,
  publication,
  rowPolicy,
  extendedStatistics,
  partitionBounds,
]
