import type { Query } from './query.ts'

interface Actor {
  readonly kind: string
  readonly tenantId: string
  readonly objectId: string
  readonly applicationId: string
}

interface Entry {
  readonly action: string
  readonly target: string
  readonly before?: unknown
  readonly after?: unknown
}

/** Writes an audit entry in the transaction of the change it describes: both are kept, or neither. */
export async function writeAudit(tx: Query, actor: Actor, requestId: string, entry: Entry): Promise<void> {
  const { kind, objectId, applicationId } = actor
  await tx`
    insert into masquerade.audit_event (tenant_id, actor, action, target, before, after, request_id)
    values (
      ${actor.tenantId}, ${tx.json({ kind, objectId, applicationId })}, ${entry.action}, ${entry.target},
      ${jsonOrNull(tx, entry.before)}, ${jsonOrNull(tx, entry.after)}, ${requestId}
    )`
}

function jsonOrNull(tx: Query, value: unknown) {
  return value === undefined || value === null ? null : tx.json(value)
}

interface LaterEntry extends Omit<Entry, 'before'> {
  readonly at: Date
  readonly actor: Actor
  readonly requestId: string
}

/** Entries about what happened already, all or none of them. */
export async function writeAudits(tx: Query, entries: readonly LaterEntry[]): Promise<void> {
  const rows = entries.map(({ actor: { tenantId, ...actor }, ...entry }) => ({ ...entry, tenantId, actor }))
  await tx`
    insert into masquerade.audit_event (at, tenant_id, actor, action, target, after, request_id)
    select at, "tenantId", actor, action, target, after, "requestId"
    from jsonb_to_recordset(${tx.json(rows)}) as entry (
      at timestamptz, "tenantId" uuid, actor jsonb, action text, target text, after jsonb, "requestId" text)`
}
