import { quoteIdentifier } from '../../db/quote.ts'
import { type Definer, readDefiners } from './definers.ts'
import { kind } from './exposure.ts'

interface Argued {
  readonly id: number
  /** Types of masked roles; empty where an argument takes values of any type. */
  readonly types: readonly string[]
}

/**
 * A value of a type that a masked role made brings the role's code with it: casts, operators, output of a domain's base, functions of a
 * range. A SECURITY DEFINER function that takes such a value runs that code as its owner, with the safest search path too. A role with EXECUTE
 * on a trigger function hands it rows of any type by a trigger of a table of its own, a temporary one too. FETCH runs the query of a cursor.
 */
export const definerArgument = kind<Argued & { definer: Definer; list: string; roles: readonly string[] }>({
  code: 'DefinerArgument',
  severity: 'medium',
  async read(scene) {
    const { sql, book } = scene
    const definers = new Map((await readDefiners(scene)).map((definer) => [definer.id, definer]))
    if (definers.size === 0) return []
    const takesAny = sql`(t.typtype = 'p' and t.typname ~ '^(any|_?record$|trigger$)' or t.oid = 'pg_catalog.refcursor'::regtype)`
    const rows = await sql<Argued[]>`
      with recursive part as (
        select p.oid as id, a.type from pg_catalog.pg_proc p cross join lateral unnest(p.proargtypes) a(type)
        where p.oid = any(${[...definers.keys()]}::int8[]::oid[])
        union
        select p.oid, p.prorettype from pg_catalog.pg_proc p
        where p.oid = any(${[...definers.keys()]}::int8[]::oid[]) and p.prorettype = 'pg_catalog.trigger'::regtype
        union
        select p.id, next.type from part p join pg_catalog.pg_type t on t.oid = p.type cross join lateral (
          select t.typbasetype as type where t.typtype = 'd'
          union all select t.typelem where t.typtype = 'b' and t.typelem <> 0
          union all select r.rngsubtype from pg_catalog.pg_range r
            where t.oid in (r.rngtypid, (to_jsonb(r) ->> 'rngmultitypid')::oid)
          union all select a.atttypid from pg_catalog.pg_attribute a
            where t.typtype = 'c' and a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
        ) next
      )
      select p.id::int8 as id, case when pg_catalog.bool_or(${takesAny}) then '{}'
        else pg_catalog.array_agg(t.oid::regtype::text order by t.oid) end as types
      from part p join pg_catalog.pg_type t on t.oid = p.type join pg_catalog.pg_roles o on o.oid = t.typowner
      where ${takesAny} or o.rolname = any(${book.ofWatched}::text[])
      group by p.id order by p.id::regprocedure::text`
    return rows.flatMap((row) => {
      const definer = definers.get(row.id)
      return definer?.grantees
        ? [{ ...row, definer, list: definer.grantees.list, roles: definer.grantees.roles }]
        : []
    })
  },
  describe: ({ types, definer: { kind, signature, owner }, list }) => ({
    objects: [{ kind, name: signature }, ...types.map((name) => ({ kind: 'type', name }))],
    explanation: `It runs with the privileges of ${quoteIdentifier(owner)}, whose rights lead to raw values, and takes values of ${
      types.length === 0
        ? 'any type, as an argument, as a row of a trigger or from a cursor'
        : 'a type that a masked role owns'
    }. Where the function casts, compares, prints or fetches such a value, it can call a function that the owner of the type or cursor chose, which then runs as ${quoteIdentifier(owner)}.`,
    remedy: `REVOKE EXECUTE ON ROUTINE ${signature} FROM ${list} CASCADE`,
  }),
})
