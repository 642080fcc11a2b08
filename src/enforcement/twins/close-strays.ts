import { quoteLiteral, quoteQualified } from '../../db/quote.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import { quoteGrantee } from '../grants/grant-steps.ts'
import { markClosed } from '../guard/guard-steps.ts'
import type { OpenStray, Plan } from '../plan.ts'

/**
 * Revokes every privilege on a view that would show raw values of what is masked. No lock of a reader is waited for. A view for
 * whose owner the binding cannot act goes, with what reads it: it is in a schema of ours.
 */
export function closeStray({ steps, snapshot, desired }: Plan, stray: OpenStray): void {
  const { grantees, recordedFor, oid } = stray
  if (grantees.length === 0) return
  const name = quoteQualified(stray.schema, stray.name)
  const why = 'it reads data that is masked now, and no record names it'
  if (!stray.isSettable) {
    steps.push(refuseSettable(oid, snapshot.version), {
      sql: `DROP VIEW ${name} CASCADE`,
      why,
      as: desired.twinOwner,
    })
    return
  }
  const from = grantees.map(quoteGrantee).join(', ')
  steps.push({ sql: `REVOKE ALL ON ${name} FROM ${from} CASCADE`, why, as: stray.owner }, refuseOpen(oid))
  if (recordedFor !== null && snapshot.guard.isThere)
    steps.push(markClosed(snapshot.guard.schema, recordedFor))
}

/** The binding may have become a member of the owner since the turn looked: then the turn is undone, and the next one closes the view. */
function refuseSettable(oid: number, version: number) {
  const take = version >= 160000 ? 'SET' : 'MEMBER'
  const body = `BEGIN IF EXISTS (SELECT FROM pg_class c WHERE c.oid = ${oid} AND pg_has_role(c.relowner, '${take}'))
    THEN RAISE 'the owner of a former twin can be acted for by now' USING ERRCODE = '${sqlstate.serializationFailure}'; END IF; END`
  return { sql: `DO ${quoteLiteral(body)}`, why: 'what can be closed is not dropped' }
}

/** REVOKE names roles, and a role with CREATEROLE can give a name to another one in between: then the turn is undone. */
function refuseOpen(oid: number) {
  const body = `BEGIN IF EXISTS (
      SELECT FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = ${oid} AND a.grantee <> c.relowner
      UNION ALL SELECT FROM pg_class c, pg_attribute t, aclexplode(t.attacl) a
        WHERE c.oid = ${oid} AND t.attrelid = c.oid AND t.attnum > 0 AND a.grantee <> c.relowner
    ) THEN RAISE 'a role that could read a former twin was renamed' USING ERRCODE = '${sqlstate.serializationFailure}'; END IF; END`
  return { sql: `DO ${quoteLiteral(body)}`, why: 'no role may read it' }
}
