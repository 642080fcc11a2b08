/** Something of ours that is in a database, or on its server. */
export interface Leftover {
  readonly kind: 'schema' | 'event trigger' | 'role' | 'login role'
  readonly name: string
  /** Removes it; for an operator, where the role of the binding may not. */
  readonly statement: string
  /** It holds nothing here. */
  readonly isHarmless: boolean
}
