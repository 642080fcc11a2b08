/** The answer of one check. */
export interface Finding {
  readonly check: string
  /** `skipped`: it needs something that an earlier check did not find. */
  readonly state: 'ok' | 'warning' | 'problem' | 'skipped'
  readonly message: string
  /** The command that mends it. */
  readonly fix?: string
}

export const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message })

export const warning = (check: string, message: string, fix: string): Finding => ({
  check,
  state: 'warning',
  message,
  fix,
})

export const problem = (check: string, message: string, fix: string): Finding => ({
  check,
  state: 'problem',
  message,
  fix,
})

export const skipped = (check: string, message: string): Finding => ({ check, state: 'skipped', message })
