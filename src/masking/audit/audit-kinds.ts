/** What an entry of the audit is about, as lists and counts tell them apart. */
export const auditKinds = ['touch', 'preview', 'session', 'change'] as const

export type AuditKind = (typeof auditKinds)[number]

export function kindOf(action: string): AuditKind {
  if (action === 'gateway/touch') return 'touch'
  if (action === 'previewTable') return 'preview'
  return action.startsWith('gateway/') ? 'session' : 'change'
}
