/** Something about a database that keeps masks from holding, or from being complete, and what puts it right. */
export interface Finding {
  readonly code: string
  readonly message: string
  /** For a superuser to run, or for another role that may. */
  readonly statements: readonly string[]
}
