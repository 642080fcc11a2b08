export interface EnforcementReport {
  readonly state: 'Enforced' | 'Pending' | 'Failed'
  /** Why it is not enforced; null when it is. */
  readonly reason: string | null
}

/** The controller that turns rules into masks, as the management API sees it. Asked about bound databases alone. */
export interface Enforcement {
  report(databaseId: string): Promise<EnforcementReport>
  /** After a committed change of rules, policy or binding: enforces it where that is possible in reasonable time. */
  settle(databaseId: string): Promise<EnforcementReport>
}

const pending: EnforcementReport = {
  state: 'Pending',
  reason: 'No enforcement controller runs on this node: the rules are stored, and no mask is in place yet.',
}

export const absentEnforcement: Enforcement = {
  report: async () => pending,
  settle: async () => pending,
}
