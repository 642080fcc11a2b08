/** Something about a database that keeps masks from holding, or from being complete, and what puts it right. */
export interface Finding {
  readonly code: string
  readonly message: string
  /** For a superuser to run, or for another role that may. */
  readonly statements: readonly string[]
}

/** Whether masks can be enforced in a database. */
export interface Preflight {
  readonly version: string
  /** Masks could not hold. */
  readonly refusals: readonly Finding[]
  readonly warnings: readonly Finding[]
  /** The resource that the masks belong to; null: none. */
  readonly owner: MaskOwner | null
}

export interface MaskOwner {
  readonly id: string
  /** The finding where the service does not have that resource. */
  readonly unknown: Finding
}
