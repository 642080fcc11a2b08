import type { Tx } from '../db/transaction.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import type { Snapshot } from './catalog.ts'
import {
  chooseGuardName,
  findForeignGuard,
  type Namesake,
  selectGuard,
  writeFormerMark,
  writeGuardMark,
} from './guard/find-guard.ts'
import { type KeptRecords, readPlace } from './guard/kept-records.ts'
import type { GuardRecord } from './guard/read-record.ts'
import { refusesWriters } from './guard/refuse-writers.ts'
import type { StoredGuard } from './guard/stored-grants.ts'
import { idleMs } from './lease.ts'
import { driftFunction, driftTrigger, guardSchema } from './names.ts'
import type { Printing } from './print-by-halves.ts'
import type { TwinOwnerFacts } from './twins/choose-twin-owner.ts'
import { type TwinKeys, unsigned } from './twins/recognise-twin-roles.ts'

/** The server, the role of the binding and our records, as a turn finds them. */
export interface TurnFacts
  extends TwinOwnerFacts,
    Pick<
      Snapshot,
      'watched' | 'guard' | 'exempt' | 'exemptOids' | 'adminOids' | 'guardReaders' | 'guardedOwners'
    > {
  readonly twinKeepers: GuardRecord['twinKeepers']
  readonly twinKeys: TwinKeys
  /** The limit of statements, as a setting. */
  readonly statementTimeout: string
  readonly printing?: Printing | undefined
  /** Records that the service keeps itself, where the database has none. */
  readonly kept: readonly StoredGuard[]
  /** No turn comes after this one that closes what it leaves out. */
  readonly closesAll?: boolean | undefined
}

interface BeginRow
  extends Omit<
    TurnFacts,
    | 'guard'
    | 'exempt'
    | 'exemptOids'
    | 'adminOids'
    | 'guardReaders'
    | 'guardedOwners'
    | 'twinKeepers'
    | 'twinKeys'
    | 'kept'
  > {
  readonly schema: string | null
  readonly owner: number
  readonly isOurs: boolean
  readonly isCurrent: boolean
  readonly comment: string | null
  readonly namesakes: readonly Namesake[]
}

/** Of a comment, as stored: more than any mark of ours. Other roles write up to a gigabyte, which takes long to read. */
const mostStoredBytes = 1000

function readComment(tx: Tx, schema: ReturnType<typeof selectGuard>) {
  return tx`(select d.description from pg_catalog.pg_description d where d.objoid = ${schema}
    and d.classoid = 'pg_catalog.pg_namespace'::regclass and pg_catalog.pg_column_size(d.description) <= ${mostStoredBytes})`
}

/**
 * Sets what later statements of the transaction depend on, and reads about the server and our records, by one statement.
 * Fails where the records belong to a former role of the binding. `kept`: the service's own copy of them.
 */
export async function readTurnFacts(
  tx: Tx,
  lockTimeoutMs: number,
  keys?: TwinKeys,
  kept?: KeptRecords,
): Promise<TurnFacts> {
  // Names in what we write are looked up among the built-ins alone, and temporary objects of a session never come first.
  const [row] = await tx<BeginRow[]>`
    select set_config('search_path', 'pg_catalog, pg_temp', true),
      set_config('lock_timeout', ${String(lockTimeoutMs)}, true),
      set_config('idle_in_transaction_session_timeout', ${String(idleMs)}, true),
      set_config('standard_conforming_strings', 'on', true),
      set_config('quote_all_identifiers', 'off', true), set_config('extra_float_digits', '1', true),
      set_config('DateStyle', 'ISO, YMD', true), set_config('IntervalStyle', 'postgres', true),
      -- Compiling a query of the catalog takes seconds, running it milliseconds.
      set_config('jit', 'off', true),
      current_setting('server_version_num')::int as version, current_database()::text as database,
      current_setting('statement_timeout') as "statementTimeout",
      u.rolname::text as user, u.rolsuper as superuser, u.rolcreaterole as "createsRoles",
      g.nspname::text as schema, coalesce(g.nspowner, u.oid)::int8 as owner,
      ${readComment(tx, tx`g.oid`)} as comment,
      not exists (select from pg_catalog.pg_class c join pg_catalog.pg_roles o on o.oid = c.relowner
        where c.relnamespace = g.oid and o.oid <> u.oid and not o.rolsuper) and not exists (
        select from pg_catalog.pg_class c join pg_catalog.pg_trigger t on t.tgrelid = c.oid
        where c.relnamespace = g.oid and not t.tgisinternal) as "isOurs",
      (select count(*) = 4 from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = g.oid and (c.relname, a.attname) in (('relation', 'acl_order'), ('policy', 'epoch'),
          ('policy', 'exempt_oids'), ('policy', 'admin_oids'))) and ${refusesWriters(tx, tx`g.oid`)}
        as "isCurrent",
      exists (select from pg_catalog.pg_event_trigger t join pg_catalog.pg_proc p on p.oid = t.evtfoid
        where t.evtname = ${driftTrigger} and t.evtenabled <> 'D' and p.proname = ${driftFunction}
          and p.pronamespace = g.oid) as watched,
      case when g.oid is null then coalesce((select jsonb_agg(jsonb_build_object('name', n.nspname,
          'owner', n.nspowner::int8, 'comment', ${readComment(tx, tx`n.oid`)},
          'holdsOurs', exists (select from pg_catalog.pg_class c join pg_catalog.pg_roles o on o.oid = c.relowner
            where c.relnamespace = n.oid and c.relname = 'relation' and (o.oid = u.oid or o.rolsuper))))
        from pg_catalog.pg_namespace n where pg_catalog.starts_with(n.nspname, ${guardSchema})), '[]') else '[]' end as namesakes
    from pg_catalog.pg_roles u left join (${selectGuard(tx)}) g on true where u.rolname = current_user`
  if (!row) throw new Error('the server did not answer')
  const { schema, owner, isOurs, isCurrent, comment, namesakes, ...facts } = row
  const wasMasked = async () => kept !== undefined && (await kept.readCopy(await readPlace(tx))) !== null
  const foreign = await findForeignGuard(namesakes, keys, wasMasked)
  if (foreign || (schema !== null && !isOurs)) throw describeForeign(foreign?.name ?? schema ?? '')
  const mark = keys ? writeGuardMark(owner, keys) : null
  // A node of release 0.1 writes its own mark: two releases would go on to rewrite each other's (ENF-402).
  const isMarked = !keys || comment === mark || comment === writeFormerMark(owner, keys)
  return {
    ...facts,
    exempt: [],
    exemptOids: [],
    adminOids: [],
    guardReaders: [],
    guardedOwners: [],
    twinKeepers: [],
    twinKeys: keys ?? unsigned,
    kept: [],
    guard: {
      schema: schema ?? chooseGuardName(namesakes),
      isThere: schema !== null,
      isCurrent: isCurrent && isMarked,
      mark,
    },
  }
}

/** The rows of these tables decide which role gets which grant, so the tables have to be our own. */
function describeForeign(schema: string): Error {
  const message = `the schema ${schema} is not the binding role's; drop it, or make that role its owner`
  return Object.assign(new Error(message), { code: sqlstate.insufficientPrivilege })
}
