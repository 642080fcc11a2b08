import type { Answer, AuditEntry } from '../api/operation.ts'
import type { Fragment, Query } from '../db/query.ts'
import { fail } from '../kernel/problem.ts'
import { type DatabaseRow, findDeclared } from './databases/database-row.ts'
import { withEnforcement } from './operation.ts'
import { checkFreeName, fold, readDatabasePlace } from './place.ts'
import { answerStored, auditChange, type Kind, type Site } from './resource.ts'

/** Rows of a table of things that a database has, by name: rules, role mappings. */
export type Child<P> = P & { readonly name: string; readonly version: number }

interface ChildTable<P> {
  readonly table: string
  readonly fields: readonly (keyof P & string)[]
  /** The fields of the unique constraint, whose index serves the order of lists. */
  readonly unique: readonly (keyof P & string)[]
}

/** The statements about such a table. */
export function childTable<P extends object>({ table, fields, unique }: ChildTable<P>) {
  const columns = ['name', 'version', ...fields.map((field) => `${columnOf(field)} as "${field}"`)].join(', ')
  const order = unique.map(columnOf).join(', ')
  const valuesOf = (properties: P) =>
    Object.fromEntries(fields.map((field) => [columnOf(field), properties[field]]))

  return {
    async find(tx: Query, databaseId: string, name: string): Promise<Child<P> | null> {
      const [row] = await tx<Child<P>[]>`
        select ${tx.unsafe(columns)} from ${tx(table)} where database_id = ${databaseId} and key = ${fold(name)}`
      return row ?? null
    },

    async list(tx: Query, databaseId: string): Promise<Child<P>[]> {
      return await tx<Child<P>[]>`
        select ${tx.unsafe(columns)} from ${tx(table)} where database_id = ${databaseId}
        order by ${tx.unsafe(order)}`
    },

    /** True when both have the same values of the unique constraint. */
    isSamePlace: (one: P, other: P): boolean => unique.every((field) => one[field] === other[field]),

    /** The name of the row that has these values of the unique constraint. */
    async findHolder(tx: Query, databaseId: string, properties: P): Promise<string | null> {
      const same = unique.map((field) => tx`and ${tx(columnOf(field))} = ${properties[field]}`)
      const rows = await tx<{ name: string }[]>`
        select name from ${tx(table)} where database_id = ${databaseId}
        ${same.reduce((all, one) => tx`${all} ${one}`)}`
      return rows[0]?.name ?? null
    },

    async insert(tx: Query, databaseId: string, name: string, properties: P): Promise<Child<P>> {
      const row = { database_id: databaseId, key: fold(name), name, ...valuesOf(properties) }
      const [stored] = await tx<Child<P>[]>`
        insert into ${tx(table)} ${tx(row)} returning ${tx.unsafe(columns)}`
      return stored ?? fail('InternalServerError')
    },

    async update(tx: Query, databaseId: string, name: string, properties: P): Promise<Child<P>> {
      const [stored] = await tx<Child<P>[]>`
        update ${tx(table)} set ${tx(valuesOf(properties))}, updated_at = now(), version = nextval('resource_version')
        where database_id = ${databaseId} and key = ${fold(name)} returning ${tx.unsafe(columns)}`
      return stored ?? fail('InternalServerError')
    },

    async insertAll(
      tx: Query,
      databaseId: string,
      items: readonly (P & { readonly name: string })[],
    ): Promise<Child<P>[]> {
      const rows = items.map((item) => ({
        database_id: databaseId,
        key: fold(item.name),
        name: item.name,
        ...valuesOf(item),
      }))
      const into = ['database_id', 'key', 'name', ...fields.map(columnOf)].join(', ')
      return await tx<Child<P>[]>`
        insert into ${tx(table)} (${tx.unsafe(into)})
        select ${tx.unsafe(into)} from jsonb_populate_recordset(null::${tx(table)}, ${tx.json(rows)})
        returning ${tx.unsafe(columns)}`
    },

    async removeAll(tx: Query, databaseId: string, names: readonly string[]): Promise<void> {
      await tx`delete from ${tx(table)} where database_id = ${databaseId} and key = any(${names.map(fold)}::text[])`
    },

    /** A column of a larger statement, which thereby reads rows and parent at one moment: those that changed after a version. */
    listAsJson(tx: Query, databaseId: Fragment, since: number): Fragment {
      return tx`
        (select coalesce(jsonb_agg(to_jsonb(one)), '[]') from (
          select ${tx.unsafe(columns)} from ${tx(table)} where database_id = ${databaseId} and version > ${since}
          order by ${tx.unsafe(order)}) one)`
    },

    countAs(tx: Query, databaseId: Fragment): Fragment {
      return tx`(select count(*)::int from ${tx(table)} where database_id = ${databaseId})`
    },

    async remove(tx: Query, databaseId: string, name: string): Promise<void> {
      await tx`delete from ${tx(table)} where database_id = ${databaseId} and key = ${fold(name)}`
    },
  }
}

function columnOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The shared half of what describes a kind of child: everything that follows from its table and its parent. */
export function childKind<P extends object, Item extends Child<P>>({
  rows,
  parameter,
  complete,
}: ChildParts<P, Item>): Pick<
  Kind<Item, DatabaseRow | null>,
  'findParent' | 'find' | 'list' | 'versionOf' | 'remove' | 'finish'
> {
  return {
    findParent(site, isChange) {
      readDatabasePlace(site.params)
      if (parameter in site.params) checkFreeName(site.params, parameter)
      return findDeclared(site, isChange)
    },
    async find(site, database) {
      const row = database && (await rows.find(site.tx, database.id, checkFreeName(site.params, parameter)))
      return row ? ((await complete(site, database, [row]))[0] ?? null) : null
    },
    async list(site, database) {
      return database ? await complete(site, database, await rows.list(site.tx, database.id)) : []
    },
    versionOf: ({ version }) => version,
    async remove(site, { name }, database) {
      if (database) await rows.remove(site.tx, database.id, name)
    },
    finish: withEnforcement,
  }
}

interface ChildParts<P, Item> {
  readonly rows: ReturnType<typeof childTable<P & object>>
  /** The path parameter that names it. */
  readonly parameter: string
  /** Adds what rendering needs beside the row. */
  complete(site: Site, database: DatabaseRow, rows: readonly Child<P>[]): Promise<Item[]> | Item[]
}

interface Write<P, Item> {
  readonly kind: Pick<Kind<Item>, 'action' | 'render'>
  readonly parts: ChildParts<P, Item>
  readonly database: DatabaseRow
  readonly name: string
  readonly before: Item | null
  readonly properties: P
  /** Says whose the values of the unique constraint are. */
  explainHolder(holder: string): string
}

/** Creates or changes a child, and audits it. The database is locked. */
export async function storeChild<P extends object, Item extends Child<P>>(
  site: Site,
  audit: (entry: AuditEntry) => void,
  { kind, parts, database, name, before, properties, explainHolder }: Write<P, Item>,
): Promise<Answer> {
  const { tx } = site
  const isKept = before !== null && parts.rows.isSamePlace(before, properties)
  const holder = isKept ? before.name : await parts.rows.findHolder(tx, database.id, properties)
  if (holder !== null && holder !== before?.name) fail('Conflict', { reason: explainHolder(holder) })
  const write = before ? parts.rows.update : parts.rows.insert
  const stored = await write(tx, database.id, name, properties)
  const [after] = await parts.complete(site, database, [stored])
  if (!after) throw new Error('a stored row was not completed')
  auditChange(audit, `${kind.action}/write`, kind.render, before, after)
  return answerStored(kind.render(after, site.namespace, site.apiVersion), after.version, before === null)
}
