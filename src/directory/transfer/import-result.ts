import type { Fault } from './find-faults.ts'
import type { Entry } from './read-line.ts'
import type { StageName } from './stage.ts'

export const maxFaults = 100

/** Nothing of the file was kept; these are the reasons, `maxFaults` at most. */
export class ImportFailed extends Error {
  readonly faults: readonly Fault[]
  constructor(faults: readonly Fault[]) {
    const count = faults.length >= maxFaults ? `${maxFaults} or more` : faults.length
    super(`The file has ${count} ${faults.length === 1 ? 'fault' : 'faults'}.`)
    this.faults = faults
  }
}

export type ImportCounts = Readonly<Record<StageName | 'definition', number>>

/** The outcome of an import for the lines of a file. */
export interface ImportOutcome {
  /** Lines by their kind. */
  readonly lines: ImportCounts
  readonly created: number
  readonly changed: number
  readonly unchanged: number
  readonly removed: number
  /** The first hundred objects, members and owners that were removed. */
  readonly removedNames: readonly string[]
  /** How many more were removed, by their kind. */
  readonly removedOthers: Readonly<Record<string, number>>
  /** Equal for two imports that remove the same objects, members and owners. */
  readonly removedDigest: string
  /** Passwords that were made for new users; they are shown this once. */
  readonly invitations: readonly Invitation[]
}

export interface Invitation {
  readonly userPrincipalName: string
  readonly password: string
  readonly expirationDateTime: string
}

/** A definition waits in memory: there are few, and values can only be checked by them. */
export interface Definition {
  readonly line: number
  readonly entry: Extract<Entry, { definition: unknown }>
}
