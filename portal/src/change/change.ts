import type { ReactNode } from 'react'

/** One value before and after. */
export interface Difference {
  readonly label: string
  readonly before?: ReactNode
  readonly after?: ReactNode
}

/** A change as the reader sees it before it happens. */
export interface Change {
  readonly title: string
  readonly description?: string
  readonly differences: readonly Difference[]
  /** Fields that the change still needs from the person, such as a reason. */
  readonly fields?: ReactNode
  /** The roles and people that the change affects; loads by itself. */
  readonly impact?: ReactNode
  /** The statements; loads by itself. */
  readonly plan?: ReactNode
  readonly confirmLabel?: string
  readonly isDanger?: boolean
  readonly isBlocked?: boolean
  /** Said in a toast afterwards. */
  readonly doneText: string
  readonly apply: () => Promise<unknown>
  /** Takes the change back; undefined for what cannot be taken back, such as a secret that was shown. */
  readonly undo?: Pick<Change, 'impact' | 'plan' | 'apply'> | undefined
}
