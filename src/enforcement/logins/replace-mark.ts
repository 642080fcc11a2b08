import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { Tx } from '../../db/transaction.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import type { Step } from '../plan.ts'
import { mark } from './diff-logins.ts'
import type { Sign } from './mark.ts'
import type { ObservedLogin } from './observe-logins.ts'

/** COMMENT waits for another transaction that marks the same role. */
const lockTimeoutMs = 400

/** Passes by itself: the mark stays for the next turn or login. */
class Outdated extends Error {
  readonly code = sqlstate.lockNotAvailable
}

/**
 * Says in the mark of a login role that its sessions have ended, at all servers or but for those to be `left`. Throws where the role has
 * lost something since it was observed, as sessions may have begun in between. A loss marks the role in its own transaction: either the
 * mark is another one, or COMMENT waits for that transaction, and the role has less afterwards.
 */
export async function replaceMark(
  database: Database,
  login: ObservedLogin,
  left: string | undefined,
  sign: Sign,
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx`select pg_catalog.set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`
    await rewriteMark(tx, login, mark(quoteIdentifier(login.name), login, { ending: false, left }, sign))
  })
}

/** Writes a mark by which no sessions are to end. Throws as `replaceMark` does, and waits as long as `lock_timeout` says. */
export async function rewriteMark(
  tx: Tx,
  { oid, written }: Pick<ObservedLogin, 'oid' | 'written'>,
  { sql }: Step,
): Promise<void> {
  const before = await look(tx, oid)
  if (before?.written !== written) throw new Outdated('the role was marked again')
  await tx.unsafe(sql)
  const after = await look(tx, oid)
  // Where the mark is still the former one, another role has got the name.
  if (after?.held !== before.held || after.written === before.written)
    throw new Outdated('the role was changed')
}

async function look(tx: Sql, oid: number): Promise<{ written: string; held: string } | undefined> {
  const [row] = await tx<{ written: string; held: string }[]>`
    select d.xmin::text as written, jsonb_build_array(r.rolcanlogin, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication,
        r.rolbypassrls, (select jsonb_agg(to_jsonb(m) order by m.roleid, m.grantor)
          from pg_catalog.pg_auth_members m where m.member = r.oid))::text as held
    from pg_catalog.pg_roles r join pg_catalog.pg_shdescription d
      on d.objoid = r.oid and d.classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass
    where r.oid = ${oid}::int8::oid`
  return row
}
