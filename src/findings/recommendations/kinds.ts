import type { Suggestion } from '../../contracts/inspection.ts'
import { contents } from './contents.ts'
import data from './kinds.json' with { type: 'json' }

/** The kind of values that a type holds, as far as kinds of data differ by it. */
export type Form = 'text' | 'number' | 'date' | 'network' | 'binary'

/** A kind of sensitive data: how it is called, how it looks, and what masks it well. */
export interface Kind {
  readonly kind: string
  readonly noun: string
  /**
   * Words that say so by themselves, in lower case without accents; several languages' common ones. A name of several
   * words is one here: `dateofbirth`, without small words such as "de" and "of".
   */
  readonly words: readonly string[]
  /** The same for words that may mean something else as well. */
  readonly hints: readonly string[]
  /** Words that say so in a table about people alone. */
  readonly ofPeople: readonly string[]
  readonly forms: readonly Form[]
  looksLike?(value: string): boolean
  /** How much to believe a column all of whose sampled values look like it. */
  readonly contentConfidence?: number
  /** The share of values that has to look like it; most of them unless given. */
  readonly leastShare?: number
  readonly suggestion: Suggestion
}

/** A kind in `kinds.json`: words stand in lines, and what values look like is a function of `contents.ts`. */
type Entry = Omit<Kind, 'looksLike'> & { readonly looksLike?: keyof typeof contents }

const split = (lines: readonly string[]): string[] => lines.flatMap((line) => line.split(' '))

export const kinds = (data.kinds as readonly Entry[]).map(
  ({ looksLike, words, hints, ofPeople, ...kind }): Kind => ({
    ...{ ...kind, words: split(words), hints: split(hints), ofPeople: split(ofPeople) },
    ...(looksLike && { looksLike: contents[looksLike] }),
  }),
)

/** Words of tables whose rows are people. */
export const peopleWords: ReadonlySet<string> = new Set(split(data.peopleWords))
/** Words that make a name mean something about the data, and not the data: `email_sent_at`, `street_count`. */
export const aboutWords: ReadonlySet<string> = new Set(split(data.aboutWords))
/** Small words inside of names. */
export const fillers: ReadonlySet<string> = new Set(split(data.fillers))
/** Ends that change nothing: `telefonnummer`, `emailaddress`. */
export const ends: readonly string[] = split(data.ends)
