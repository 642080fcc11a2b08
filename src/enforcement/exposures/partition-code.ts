import { quoteIdentifier } from '../../db/quote.ts'
import { kind } from './exposure.ts'
import { describeParts } from './parts.ts'
import { listMakers, listSeers } from './seers.ts'

interface PartRow {
  readonly child: string
  readonly maker: string
  readonly parent: string
  readonly owner: string
  readonly depth: number
  readonly hasKey: boolean
}

interface Found {
  readonly parent: string
  readonly owner: string
  readonly maker: string
  readonly children: readonly string[]
  readonly hasKey: boolean
  readonly roles: readonly string[]
}

/**
 * A statement about a table is about the partitions and children below it, with one check of privileges at the top. The owner of a
 * partition chooses its checks and indexes, which PostgreSQL evaluates when it plans the statement, and its triggers. They run as the role
 * of the statement, for a foreign key as the owner of the table, whichever role changed the other table, and for a subscription as that
 * owner since PostgreSQL 16.
 */
export const partitionCode = kind<Found>({
  code: 'PartitionCode',
  severity: 'medium',
  async read(scene) {
    const { sql, book } = scene
    // Keys look at tables without their children, unless these are partitions, and subscriptions too.
    const rows = await sql<PartRow[]>`
      with recursive keyed as materialized (
        select conrelid as oid from pg_catalog.pg_constraint where contype = 'f'
        union select confrelid from pg_catalog.pg_constraint where contype = 'f'
        union select srrelid from pg_catalog.pg_subscription_rel
      ), above as (
        select c.oid as child, c.oid as at, 0 as depth
        from pg_catalog.pg_class c join pg_catalog.pg_roles m on m.oid = c.relowner and m.rolname = any(${book.ofWatched}::text[])
        where c.relkind in ('r', 'p', 'f') and c.oid in (select inhrelid from pg_catalog.pg_inherits)
        union
        select a.child, i.inhparent, a.depth + 1 from above a join pg_catalog.pg_inherits i on i.inhrelid = a.at
      )
      select c.oid::regclass::text as child, m.rolname::text as maker, p.oid::regclass::text as parent, o.rolname::text as owner, a.depth,
        p.relkind = 'p' and p.oid in (select oid from keyed) as "hasKey"
      from above a join pg_catalog.pg_class c on c.oid = a.child join pg_catalog.pg_roles m on m.oid = c.relowner
      join pg_catalog.pg_class p on p.oid = a.at and p.relowner <> c.relowner
      join pg_catalog.pg_roles o on o.oid = p.relowner and o.rolname = any(${listSeers(scene)}::text[])
      order by 1, a.depth desc, 3`
    const makersOf = new Map<string, readonly string[]>()
    const listRoles = ({ maker, owner }: PartRow) => {
      const key = JSON.stringify([maker, owner])
      const roles = makersOf.get(key) ?? listMakers(scene, maker, owner)
      makersOf.set(key, roles)
      return roles
    }
    const byChild = Map.groupBy(
      rows.filter((row) => listRoles(row).length > 0),
      ({ child }) => child,
    )
    // One for all partitions of a role below the uppermost table: there may be thousands.
    const tops = [...byChild.values()].flatMap((same) =>
      same.slice(0, 1).map((row) => ({ ...row, hasKey: same.some(({ hasKey }) => hasKey) })),
    )
    const groups = Map.groupBy(tops, ({ parent, maker, hasKey }) => JSON.stringify([parent, maker, hasKey]))
    return [...groups.values()].flatMap((same) =>
      same.slice(0, 1).map((row) => ({
        parent: row.parent,
        owner: row.owner,
        maker: row.maker,
        hasKey: row.hasKey,
        children: same.map(({ child }) => child),
        roles: listRoles(row),
      })),
    )
  },
  describe: ({ parent, owner, maker, children, hasKey }) => {
    const { objects, words, remedy } = describeParts(
      children.map((name) => ({ kind: 'table', name })),
      owner,
    )
    return {
      severity: hasKey ? 'high' : 'medium',
      objects: [{ kind: 'table', name: parent }, ...objects],
      explanation: `${parent} belongs to ${quoteIdentifier(owner)}, whose rights lead to raw values, and stands for ${words}, of the owner ${quoteIdentifier(maker)}. That owner chooses checks, indexes and triggers there, and PostgreSQL runs these as the role that reads or writes ${parent}${
        hasKey
          ? ', and for a foreign key or a subscription as the owner of the table, whichever role changes the other one'
          : ', such as its owner'
      }. Look at them before you give another owner.`,
      remedy,
    }
  },
})
