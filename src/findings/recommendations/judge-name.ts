import { aboutWords, ends, fillers, type Kind, kinds, peopleWords } from './kinds.ts'

export interface NameMatch {
  readonly kind: Kind
  /** The word of the kind that was found. */
  readonly word: string
  readonly isHint: boolean
}

interface Placed extends NameMatch {
  readonly from: number
  readonly to: number
}

/** The kinds that a name speaks for. `table`: its words say whether `name` is the name of a person. */
export function matchName(name: string, table = ''): NameMatch[] {
  const words = wordsOf(name)
  const isOfPeople = [...wordsOf(table), ...words].some(isPeopleWord)
  const found = kinds.flatMap((kind) => findIn(kind, words, isOfPeople))
  return found.filter((match) => !found.some((other) => isWider(other, match)) && !isAboutData(match, words))
}

/** `ip_address` is no postal address: the longer match of another kind wins. */
function isWider(other: Placed, match: Placed): boolean {
  const contains = other.from <= match.from && other.to >= match.to
  return contains && other.to - other.from > match.to - match.from && !other.isHint
}

/** A word outside of the match says that the column holds something about the data. */
function isAboutData({ from, to }: Placed, words: readonly string[]): boolean {
  return words.some((word, at) => (at < from || at >= to) && aboutWords.has(word))
}

const longestMatch = 4

/** The longest match of the kind. */
function findIn(kind: Kind, words: readonly string[], isOfPeople: boolean): Placed[] {
  const strong = new Set([...kind.words, ...(isOfPeople ? kind.ofPeople : [])])
  const hints = new Set(kind.hints)
  for (let length = Math.min(longestMatch, words.length); length > 0; length--)
    for (let from = 0; from + length <= words.length; from++) {
      const joined = words.slice(from, from + length).join('')
      const place = { kind, from, to: from + length }
      const word = formsOf(joined).find((form) => strong.has(form)) ?? findCompound(joined, kind.words)
      if (word !== undefined && !(kind.ofPeople.includes(word) && !isAlone(words, place)))
        return [{ ...place, word, isHint: false }]
    }
  for (const [from, each] of words.entries()) {
    const word = formsOf(each).find((form) => hints.has(form))
    if (word !== undefined) return [{ kind, from, to: from + 1, word, isHint: true }]
  }
  return []
}

function isPeopleWord(word: string): boolean {
  return peopleWords.has(word) || peopleWords.has(singular(word))
}

/** `name` of a customer and `guest_name` anywhere are a person's; `brand_name` of a customer is not. */
function isAlone(words: readonly string[], { from, to }: { from: number; to: number }): boolean {
  return words.every((word, at) => (at >= from && at < to) || isPeopleWord(word))
}

/** Itself, its singular, and without an end that changes nothing. */
function formsOf(word: string): string[] {
  const cut = ends.filter((end) => word.endsWith(end) && word.length - end.length >= 3)
  return [word, singular(word), ...cut.map((end) => word.slice(0, -end.length))]
}

function singular(word: string): string {
  return word.length > 4 && word.endsWith('s') ? word.slice(0, -1) : word
}

const shortestInCompound = 6

/** `rechnungsadresse`: languages that write compounds as one word put the main word last. */
function findCompound(word: string, listed: readonly string[]): string | undefined {
  return listed.find(
    (each) => each.length >= shortestInCompound && word.length > each.length && word.endsWith(each),
  )
}

/** The words of a name without accents, digits and small words. */
export function wordsOf(name: string): string[] {
  return name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[ßıłøđ]/g, (letter) => plain[letter] ?? letter)
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '' && !fillers.has(word))
}

const plain: Readonly<Record<string, string>> = { ß: 'ss', ı: 'i', ł: 'l', ø: 'o', đ: 'd' }
