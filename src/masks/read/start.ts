import type { Tx } from '../../db/transaction.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import type { Server, Snapshot } from '../model.ts'
import { driftFunction, driftTrigger, guardSchema, nameGuard } from '../names.ts'
import { selectGuard } from './guard.ts'

/** PostgreSQL ends a session that leaves the transaction of a turn idle for so long. */
export const idleMs = 4_000

/** What a turn knows before it takes the lock of the database. */
export interface Start {
  readonly server: Server
  readonly guard: Snapshot['guard']
  /** The records are as this release makes them. */
  readonly isCurrent: boolean
  /** The event trigger that tells of changes is there. */
  readonly isWatched: boolean
  /** The limit of statements, as a setting. */
  readonly statementTimeout: string
}

interface Row extends Omit<Start, 'server' | 'guard'>, Omit<Server, 'binding'> {
  readonly oid: number
  readonly name: string
  readonly isSuperuser: boolean
  readonly schema: string | null
  readonly taken: readonly string[]
}

/**
 * Sets what later statements of the transaction depend on, and reads about the server and our records, by one
 * statement. `isNameHeld`: the usual name cannot be had. `isMasked`: the service has masked the database of this place. Then a schema of another role with our
 * name may have our records.
 */
export async function readStart(
  tx: Tx,
  lockTimeoutMs: number,
  isMasked: (place: string) => Promise<boolean> = async () => false,
  isNameHeld = false,
): Promise<Start> {
  // Names in what we write are looked up among the built-ins alone, and temporary objects of a session never come
  // first.
  const [row] = await tx<Row[]>`
    select set_config('search_path', 'pg_catalog, pg_temp', true),
      set_config('lock_timeout', ${String(lockTimeoutMs)}, true),
      set_config('idle_in_transaction_session_timeout', ${String(idleMs)}, true),
      set_config('standard_conforming_strings', 'on', true),
      set_config('quote_all_identifiers', 'off', true), set_config('extra_float_digits', '1', true),
      set_config('DateStyle', 'ISO, YMD', true), set_config('IntervalStyle', 'postgres', true),
      -- Compiling a query of the catalog takes seconds, running it milliseconds.
      set_config('jit', 'off', true),
      -- Planning these takes longer than running them.
      set_config('plan_cache_mode', 'force_generic_plan', true),
      current_setting('server_version_num')::int as version, d.oid::int8 as database,
      pg_catalog.concat_ws('/', (select system_identifier from pg_catalog.pg_control_system()), d.oid) as place,
      current_setting('statement_timeout') as "statementTimeout",
      u.oid::int8 as oid, u.rolname::text as name, u.rolsuper as "isSuperuser", g.nspname::text as schema,
      exists (select from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
        where c.relnamespace = g.oid and c.relname = 'relation' and a.attname = 'granted') as "isCurrent",
      exists (select from pg_catalog.pg_event_trigger t join pg_catalog.pg_proc p on p.oid = t.evtfoid
        where t.evtname = ${driftTrigger} and t.evtenabled <> 'D' and p.proname = ${driftFunction}
          and p.pronamespace = g.oid)
        and pg_catalog.to_regclass(pg_catalog.format('%I.drift', g.nspname)) is not null as "isWatched",
      array(select n.nspname::text from pg_catalog.pg_namespace n
        where pg_catalog.starts_with(n.nspname, ${guardSchema})) as taken
    from pg_catalog.pg_roles u join pg_catalog.pg_database d on d.datname = current_database()
    left join (${selectGuard(tx)}) g on true where u.rolname = current_user`
  if (!row) throw new Error('the server did not answer')
  const { version, place, database, oid, name, isSuperuser, schema, taken, ...rest } = row
  if (schema === null && taken.length > 0 && (await isMasked(place))) throw describeForeign(taken)
  return {
    server: { version, place, database, binding: { oid, name, isSuperuser } },
    guard: { schema: schema ?? (isNameHeld ? nameGuard() : chooseName(taken)), isThere: schema !== null },
    ...rest,
  }
}

/** The first name that no schema has: the same on every node, so that the second to create it fails and looks again. */
function chooseName(taken: readonly string[]): string {
  let name = guardSchema
  for (let at = 1; taken.includes(name); at++) name = `${guardSchema}_${at}`
  return name
}

/** Its rows decide which role gets which grant, so the schema has to be our own. */
function describeForeign([schema]: readonly string[]): Error {
  const message = `the schema ${schema} is not the binding role's; drop it, or make that role its owner`
  return Object.assign(new Error(message), { code: sqlstate.insufficientPrivilege })
}
