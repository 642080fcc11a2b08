import { schemaName, type Tx } from '../database.ts'
import { quoteIdentifier, quoteQualified } from '../quote.ts'

/** A constraint or an index, and the statement that makes it. */
interface Taken {
  readonly name: string
  readonly table: string
  readonly kind: 'index' | 'key' | 'foreign key'
  readonly definition: string
}

/**
 * Drops every index and every key of the store, and returns the function that makes them anew. Rows that come meanwhile cost
 * no search in an index: each index is sorted once, and each foreign key checked by one join.
 */
export async function takeIndexes(tx: Tx): Promise<() => Promise<void>> {
  const taken = await listTaken(tx)
  const of = (kind: Taken['kind']) => taken.filter((one) => one.kind === kind)
  // A key that a foreign key refers to goes after it, and comes before it.
  for (const { table, name } of [...of('foreign key'), ...of('key')])
    await tx.unsafe(`alter table ${nameIn(table)} drop constraint ${quoteIdentifier(name)}`)
  for (const { name } of of('index')) await tx.unsafe(`drop index ${nameIn(name)}`)
  return async () => {
    await tx`set local maintenance_work_mem = '128MB'`
    for (const one of of('key')) await addConstraint(tx, one)
    for (const { definition } of of('index')) await tx.unsafe(definition)
    // Without figures about the rows the checks of foreign keys would be planned for empty tables.
    for (const table of new Set(taken.map((one) => one.table))) await tx.unsafe(`analyze ${nameIn(table)}`)
    for (const one of of('foreign key')) await addConstraint(tx, one)
  }
}

const nameIn = (name: string) => quoteQualified(schemaName, name)

async function addConstraint(tx: Tx, { table, name, definition }: Taken): Promise<void> {
  await tx.unsafe(`alter table ${nameIn(table)} add constraint ${quoteIdentifier(name)} ${definition}`)
}

/** Those of partitions come and go with those of the whole table. */
async function listTaken(tx: Tx): Promise<Taken[]> {
  return await tx<Taken[]>`
    select k.conname::text as name, c.relname::text as table,
      case k.contype when 'f' then 'foreign key' else 'key' end as kind, pg_get_constraintdef(k.oid) as definition
    from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schemaName} and not c.relispartition and k.contype in ('p', 'u', 'x', 'f')
    union all
    select i.relname::text, c.relname::text, 'index', replace(pg_get_indexdef(i.oid), ' ON ONLY ', ' ON ')
    from pg_catalog.pg_index x join pg_catalog.pg_class i on i.oid = x.indexrelid
    join pg_catalog.pg_class c on c.oid = x.indrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schemaName} and not c.relispartition and not exists (
      select from pg_catalog.pg_constraint k where k.conindid = i.oid and k.contype in ('p', 'u', 'x'))
    order by 2, 1`
}
