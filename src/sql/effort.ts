import type { Limits } from './limits.ts'
import { refuseSql } from './refusal.ts'

/** Entries of a list that are compared or copied in the time of one step. */
const scannedInStep = 16

/**
 * Counts the steps that the analysis of one text takes after parsing. A short text may have many references and many
 * sources, and each reference may mean a column of each source.
 */
export class Effort {
  /** Steps so far. */
  spent = 0
  readonly #limit: number

  constructor({ steps }: Pick<Limits, 'steps'>) {
    this.#limit = steps
  }

  /** Refuses the text beyond the limit. One step looks up a column or makes a reference. */
  spend(steps = 1): void {
    this.spent += steps
    if (this.spent > this.#limit) refuseSql('TooManySteps')
  }

  /** Counts a walk through a list of so many entries. */
  scan(entries: number): void {
    this.spend(entries / scannedInStep)
  }
}
