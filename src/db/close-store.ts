import { codeOf, sqlstate } from '../kernel/sqlstate.ts'
import { schemaName } from './database.ts'
import type { Query } from './query.ts'
import { quoteIdentifier } from './quote.ts'

interface Openness {
  readonly database: string
  /** PUBLIC may connect. */
  readonly isOpen: boolean
  /** Our role owns the database, and it holds nothing but our tables: it is ours to close. */
  readonly isOurs: boolean
}

async function readOpenness(sql: Query): Promise<Openness> {
  const [row] = await sql<Openness[]>`
    select d.datname::text as database, exists (
        select 1 from pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) a
        where a.grantee = 0 and a.privilege_type = 'CONNECT') as "isOpen",
      pg_catalog.pg_get_userbyid(d.datdba) = current_user and not exists (
        select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname not in (${schemaName}, 'pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
          and not exists (select 1 from pg_catalog.pg_depend e
            where e.classid = 'pg_catalog.pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')) as "isOurs"
    from pg_catalog.pg_database d where d.datname = current_database()`
  if (!row) throw new Error('a database is not in its own catalog')
  return row
}

const statementFor = (database: string) =>
  `REVOKE CONNECT, TEMPORARY ON DATABASE ${quoteIdentifier(database)} FROM PUBLIC`

/**
 * Closes the store to the other roles of its server, which PostgreSQL lets connect to every database. They would read nothing,
 * but every role can take an advisory lock of ours and keep it, and hear and send the notifications between nodes. A database
 * that has tables of others, or another owner, is left as it is.
 */
export async function closeStore(sql: Query): Promise<void> {
  const { database, isOpen, isOurs } = await readOpenness(sql)
  if (!isOpen || !isOurs) return
  // Nodes that start together change the same row of the catalog: one of them is enough.
  await sql.unsafe(statementFor(database)).catch((error: unknown) => {
    if (codeOf(error) !== sqlstate.internalError) throw error
  })
}

/** The statement that closes a store to which every role of the server may connect; undefined: it is closed. */
export async function findOpenStore(sql: Query): Promise<string | undefined> {
  const { database, isOpen } = await readOpenness(sql)
  return isOpen ? statementFor(database) : undefined
}
