import { quoteIdentifier } from '../../db/quote.ts'
import { kind } from './exposure.ts'
import { describeParts } from './parts.ts'
import { listMakers, listSeers } from './seers.ts'

interface AppliedRow {
  readonly subscription: string
  readonly owner: string
  readonly table: string
  readonly maker: string
}

interface Found {
  readonly subscription: string
  readonly owner: string
  readonly maker: string
  readonly tables: readonly string[]
  readonly version: number
  readonly roles: readonly string[]
}

/**
 * A subscription applies changes as its owner before PostgreSQL 16, and since then where it has `run_as_owner`: triggers that are enabled
 * for replicas, checks, defaults and indexes of the tables run as that owner. Otherwise they run as the owner of the table.
 */
export const subscriptionCode = kind<Found>({
  code: 'SubscriptionCode',
  severity: 'high',
  async read(scene) {
    const { sql, book, version } = scene
    const runsAsOwner = version >= 160000 ? sql`s.subrunasowner` : sql`true`
    const rows = await sql<AppliedRow[]>`
      with recursive applied as (
        select s.oid as subscription, r.srrelid as oid
        from pg_catalog.pg_subscription s join pg_catalog.pg_subscription_rel r on r.srsubid = s.oid
        join pg_catalog.pg_roles o on o.oid = s.subowner and o.rolname = any(${listSeers(scene)}::text[])
        where ${runsAsOwner}
          and s.subdbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
        union
        select a.subscription, c.oid from applied a join pg_catalog.pg_inherits i on i.inhparent = a.oid
        join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relispartition
      )
      select s.subname::text as subscription, o.rolname::text as owner, c.oid::regclass::text as "table", m.rolname::text as maker
      from applied a join pg_catalog.pg_subscription s on s.oid = a.subscription join pg_catalog.pg_roles o on o.oid = s.subowner
      join pg_catalog.pg_class c on c.oid = a.oid and c.relowner <> s.subowner
      join pg_catalog.pg_roles m on m.oid = c.relowner and m.rolname = any(${book.ofWatched}::text[])
      order by 1, 3`
    const groups = Map.groupBy(rows, ({ subscription, maker }) => JSON.stringify([subscription, maker]))
    return [...groups.values()].flatMap((same) =>
      same.slice(0, 1).map(({ subscription, owner, maker }) => ({
        subscription,
        owner,
        maker,
        version,
        tables: same.map(({ table }) => table),
        roles: listMakers(scene, maker, owner),
      })),
    )
  },
  describe: ({ subscription, owner, maker, tables, version }) => {
    const { objects, remedy } = describeParts(
      tables.map((name) => ({ kind: 'table', name })),
      owner,
    )
    return {
      objects: [{ kind: 'subscription', name: quoteIdentifier(subscription) }, ...objects],
      explanation: `The subscription applies changes with the rights of its owner ${quoteIdentifier(owner)}, which lead to raw values, to tables of ${quoteIdentifier(maker)}: the owner of a table chooses its triggers, checks, defaults and indexes, which run as ${quoteIdentifier(owner)} with the next change that arrives.`,
      remedy:
        version >= 160000
          ? `ALTER SUBSCRIPTION ${quoteIdentifier(subscription)} SET (run_as_owner = false)`
          : remedy,
    }
  },
})
