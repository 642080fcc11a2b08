/** One row of the table of problems. */
export interface Kind {
  readonly status: number
  readonly code: string
  /** `{name}` is replaced by the parameter of that name. */
  readonly message: string
  /** The members that differ on one surface. */
  readonly masking?: Partial<Omit<Kind, 'masking' | 'directory'>>
  readonly directory?: Partial<Omit<Kind, 'masking' | 'directory'>>
}
