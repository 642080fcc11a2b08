import type { Database } from '../../db/database.ts'
import { quoteLiteral } from '../../db/quote.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'

/** May not take on a role, or not use PL/pgSQL, or the database has none. */
const unable: readonly string[] = [sqlstate.insufficientPrivilege, sqlstate.undefinedObject]

const result = 'masquerade.ended'

/**
 * PostgreSQL lets a role end its own sessions, whether or not it shows whose they are: the role of the binding takes each of these roles
 * on, and tries each session. One statement, as a round trip for each try would take too long. Works at standbys. Returns the process
 * ids of the sessions that were told to end. Undefined: it cannot take on all of these roles. Some of the sessions may have ended then.
 */
export async function endAsRoles(
  database: Database,
  oids: readonly number[],
  pids: readonly number[],
): Promise<readonly number[] | undefined> {
  try {
    return await database.transaction(async (tx) => {
      const roles = await tx<{ name: string }[]>`
        select rolname::text as name from pg_catalog.pg_roles where oid = any(${oids}::int8[]::oid[])`
      if (roles.length < oids.length) return undefined
      await tx.unsafe(
        writeEnding(
          roles.map(({ name }) => name),
          pids,
        ),
      )
      const [row] = await tx<{ ended: number[] }[]>`
        select pg_catalog.current_setting(${result})::int4[] as ended`
      return row?.ended
    })
  } catch (error) {
    if (unable.includes(sqlstateOf(error))) return undefined
    throw error
  }
}

/** A refused try is undone by itself. The role is that of the transaction, so it ends with it. */
function writeEnding(roles: readonly string[], pids: readonly number[]): string {
  const body = `
    DECLARE own text; session int4; ended int4[] := '{}';
    BEGIN
      FOREACH own IN ARRAY ARRAY[${roles.map(quoteLiteral).join(', ')}]::text[] LOOP
        PERFORM pg_catalog.set_config('role', own, true);
        FOREACH session IN ARRAY ARRAY[${pids.join(', ')}]::int4[] LOOP
          BEGIN
            IF pg_catalog.pg_terminate_backend(session) THEN ended := pg_catalog.array_append(ended, session); END IF;
          EXCEPTION WHEN insufficient_privilege THEN NULL;
          END;
        END LOOP;
      END LOOP;
      PERFORM pg_catalog.set_config('${result}', ended::text, true);
    END`
  return `DO ${quoteLiteral(body)}`
}
