import type { Operation } from './operation.ts'

/** A parameter of paths, for readers of the description of the API. */
export interface ParameterNote {
  readonly description: string
  readonly example: string
  /** The form of its values, in any case, where another parameter can stand in the same place of a path. */
  readonly pattern?: string
}

/** The operations of one room, what they need from elsewhere, and the words that their description takes. */
export interface Room {
  readonly operations: readonly Operation<never>[]
  readonly ports: unknown
  /** The headings of its operations in the order of the description, each with a sentence. */
  readonly tags: Readonly<Record<string, string>>
  /** Every parameter of its paths. */
  readonly parameters: Readonly<Record<string, ParameterNote>>
}
