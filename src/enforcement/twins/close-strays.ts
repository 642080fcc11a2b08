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
  const change = { on: name, oid, privileges: ['ALL'] }
  steps.push({ sql: `REVOKE ALL ON ${name} FROM ${from} CASCADE`, why, change, as: stray.owner })
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
