/** The first that applies counts. */
export const enforcementStates = [
  'NotBound',
  'Failed',
  'Pending',
  'Off',
  'NoRules',
  'Observing',
  'Enforced',
] as const

export type EnforcementState = (typeof enforcementStates)[number]

/** The outcome of the controller's last turn; null before the first. */
export type TurnState = 'Enforced' | 'Pending' | 'Failed' | null

export interface StatedPolicy {
  readonly isBound: boolean
  readonly state: 'Enabled' | 'Disabled'
  /** A caller set the state; else the first rule sets it to Enabled. */
  readonly isChosen: boolean
  readonly mode: 'Enforce' | 'Observe'
  readonly hasRules: boolean
}

/** What is true of the masks of a database. Until a turn succeeds, neither masks nor their end are in place. */
export function judgeState(
  { isBound, state, isChosen, mode, hasRules }: StatedPolicy,
  turn: TurnState,
): EnforcementState {
  if (!isBound) return 'NotBound'
  if (turn !== 'Enforced') return turn ?? 'Pending'
  if (state === 'Disabled' && (isChosen || hasRules)) return 'Off'
  if (!hasRules) return 'NoRules'
  return mode === 'Observe' ? 'Observing' : 'Enforced'
}

/** Why masks are not in force; undefined: the controller's turn says it, or they are. */
export const stateReasons: Readonly<Partial<Record<EnforcementState, string>>> = {
  NotBound: 'The database is not bound to a PostgreSQL: its rules are stored and nothing is masked.',
  Off: 'Masking is turned off, so roles read raw values.',
  NoRules: 'No column has a rule, so roles read raw values.',
  Observing: 'The policy is only observed, so roles read raw values.',
}

/** `NoRules` → `No rules` */
export function nameState(state: string): string {
  return state.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
