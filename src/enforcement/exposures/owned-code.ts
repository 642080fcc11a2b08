import { quoteIdentifier } from '../../db/quote.ts'
import { type ExposureKind, kind, type MaskedRelation, type Scene } from './exposure.ts'

/** Masked roles that are the owner of an object or may become it, without those that own the relation anyway. */
function listMakers({ book, byOid }: Scene, maker: string, oid: number): string[] {
  if (book.roles.get(maker)?.superuser) return []
  const owner = byOid.get(oid)?.owner ?? ''
  return book.watchedBehind(maker).filter((role) => !book.reaches(role, owner))
}

function ownerOf({ owner }: MaskedRelation): string {
  return quoteIdentifier(owner)
}

interface RoutineRow {
  readonly oid: number
  readonly keys: readonly number[]
  readonly place: string
  readonly routine: string
  readonly maker: string
}

/**
 * PostgreSQL calls a function with raw values of the row wherever the table needs it: in checks, indexes, policies, generated
 * columns, statistics and triggers. The owner of the function may replace its text.
 */
const routineOwner = kind<RoutineRow & { roles: readonly string[] }>({
  code: 'RoutineOwner',
  severity: 'high',
  async read(scene) {
    const { sql, oids } = scene
    const rows = await sql<RoutineRow[]>`
      with used as (
        select conrelid as relation, 'pg_catalog.pg_constraint'::regclass as class, oid as object, 'check' as place
          from pg_catalog.pg_constraint where contype in ('c', 'x') and conrelid = any(${oids}::oid[])
        union all
        select indrelid, 'pg_catalog.pg_class'::regclass, indexrelid, 'index' from pg_catalog.pg_index
          where indrelid = any(${oids}::oid[])
        union all
        select polrelid, 'pg_catalog.pg_policy'::regclass, oid, 'row policy' from pg_catalog.pg_policy
          where polrelid = any(${oids}::oid[])
        union all
        select e.adrelid, 'pg_catalog.pg_attrdef'::regclass, e.oid, 'generated column' from pg_catalog.pg_attrdef e
          join pg_catalog.pg_attribute a on a.attrelid = e.adrelid and a.attnum = e.adnum and a.attgenerated <> ''
          where e.adrelid = any(${oids}::oid[])
        union all
        select stxrelid, 'pg_catalog.pg_statistic_ext'::regclass, oid, 'statistics object' from pg_catalog.pg_statistic_ext
          where stxrelid = any(${oids}::oid[])
        union all
        select tgrelid, 'pg_catalog.pg_trigger'::regclass, oid, 'trigger' from pg_catalog.pg_trigger
          where not tgisinternal and tgenabled <> 'D' and tgrelid = any(${oids}::oid[])
            and ((tgtype & 1) = 1 or tgoldtable is not null or tgnewtable is not null)
      )
      select distinct used.relation::int8 as oid, used.place, f.oid::regprocedure::text as routine, o.rolname::text as maker,
        -- A trigger gets whole rows.
        case when used.place = 'trigger' then array(select attnum::int4 from pg_catalog.pg_attribute
          where attrelid = used.relation and attnum > 0)
        else array(select distinct c.refobjsubid from pg_catalog.pg_depend c where c.classid = used.class
          and c.objid = used.object and c.refclassid = 'pg_catalog.pg_class'::regclass and c.refobjid = used.relation
          and c.refobjsubid > 0) end as keys
      from used join pg_catalog.pg_depend d on d.classid = used.class and d.objid = used.object
      left join pg_catalog.pg_operator p on d.refclassid = 'pg_catalog.pg_operator'::regclass and p.oid = d.refobjid
      join pg_catalog.pg_proc f on f.oid = case when d.refclassid = 'pg_catalog.pg_proc'::regclass then d.refobjid
        else p.oprcode::oid end
      join pg_catalog.pg_roles o on o.oid = f.proowner order by 1, 2, 3`
    return rows.map((row) => ({ ...row, roles: listMakers(scene, row.maker, row.oid) }))
  },
  describe: ({ relation, column, place, routine, maker }) => ({
    objects: [{ kind: 'routine', name: routine }, relation],
    explanation: `A ${place} of the table calls ${routine} with raw values of ${column.name}, and ${quoteIdentifier(maker)} owns it: the owner can replace its text by one that shows them. Read the text before you give it another owner.`,
    remedy: `ALTER ROUTINE ${routine} OWNER TO ${ownerOf(relation)}`,
  }),
})

interface DomainRow {
  readonly oid: number
  readonly keys: readonly number[]
  readonly domain: string
  readonly maker: string
}

/** ALTER DOMAIN … ADD CHECK reads every column of the domain, whatever its owner may read, and calls any function. */
const domainOwner = kind<DomainRow & { roles: readonly string[] }>({
  code: 'DomainOwner',
  severity: 'high',
  async read(scene) {
    const { sql, oids } = scene
    const rows = await sql<DomainRow[]>`
      with recursive domain as (
        select a.attrelid, a.attnum, t.oid, t.typbasetype, t.typnamespace, t.typname, t.typowner from pg_catalog.pg_attribute a
        join pg_catalog.pg_type t on t.oid = a.atttypid and t.typtype = 'd'
        where a.attrelid = any(${oids}::oid[]) and a.attnum > 0
        union all
        select d.attrelid, d.attnum, t.oid, t.typbasetype, t.typnamespace, t.typname, t.typowner
        from domain d join pg_catalog.pg_type t on t.oid = d.typbasetype and t.typtype = 'd'
      )
      select d.attrelid::int8 as oid, array[d.attnum::int4] as keys, o.rolname::text as maker,
        pg_catalog.format('%I.%I', n.nspname, d.typname) as domain
      from domain d join pg_catalog.pg_namespace n on n.oid = d.typnamespace join pg_catalog.pg_roles o on o.oid = d.typowner
      order by 1, 2, 4`
    return rows.map((row) => ({ ...row, roles: listMakers(scene, row.maker, row.oid) }))
  },
  describe: ({ relation, column, domain, maker }) => ({
    objects: [{ kind: 'domain', name: domain }, relation],
    explanation: `The masked column ${column.name} is of the domain ${domain}, and ${quoteIdentifier(maker)} owns it: a check that the owner adds to the domain is run on the raw values of every row.`,
    remedy: `ALTER DOMAIN ${domain} OWNER TO ${ownerOf(relation)}`,
  }),
})

export const ownedCodeKinds: readonly ExposureKind[] = [routineOwner, domainOwner]
