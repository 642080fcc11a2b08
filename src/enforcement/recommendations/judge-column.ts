import { fits, type Mask } from '../twins/masks.ts'
import { type Kind, kinds, type Suggestion } from './kinds.ts'

export interface Judgement {
  readonly kind: string
  readonly confidence: number
  /** In words, and without any value. */
  readonly reasons: readonly string[]
  readonly suggestion: Suggestion
}

interface Judged {
  readonly name: string
  /** pg_type.typname and typcategory, for a domain of the type below it. */
  readonly baseName: string
  readonly category: string
}

const unset = {
  numberFrom: null,
  numberTo: null,
  prefixSize: null,
  suffixSize: null,
  replacementString: null,
}

const wordConfidence = 0.75
const hintConfidence = 0.35
const leastConfidence = 0.5
/** Fewer values than these say little. */
const fewestValues = 5
/** A column of something else has a few values that look right by chance. */
const leastShare = 0.6

/** The kind of data that a column most likely holds, by its name and a sample; null when it looks harmless. */
export function judgeColumn(column: Judged, values: readonly string[]): Judgement | null {
  const judged = kinds
    .filter((kind) => suits(column, kind))
    .map((kind) => judgeAs(kind, column, values))
    .filter(({ confidence }) => confidence >= leastConfidence)
    .sort((a, b) => b.confidence - a.confidence)
  return judged[0] ?? null
}

function judgeAs(kind: Kind, column: Judged, values: readonly string[]): Judgement {
  const mask: Mask = { ...unset, ...kind.suggestion }
  const byName = judgeName(kind, column.name)
  const byContent = judgeContent(kind, values)
  const found = [byName, byContent].filter((one) => one !== null)
  const doubt = found.reduce((left, { confidence }) => left * (1 - confidence), 1)
  return {
    kind: kind.kind,
    confidence: Math.round((1 - doubt) * 100) / 100,
    reasons: found.map(({ reason }) => reason),
    suggestion: fits(column, mask) ? kind.suggestion : { maskingFunction: 'Default' },
  }
}

interface Evidence {
  readonly confidence: number
  readonly reason: string
}

function judgeName({ words, hints = [], noun }: Kind, name: string): Evidence | null {
  const pieces = namePieces(name)
  const word = words.find((one) => pieces.has(one))
  if (word !== undefined)
    return { confidence: wordConfidence, reason: `its name has '${word}' in it, as ${noun} would` }
  const hint = hints.find((one) => pieces.has(one))
  return hint === undefined
    ? null
    : { confidence: hintConfidence, reason: `its name has '${hint}' in it, as ${noun} might` }
}

/** The words of a name, and neighbours put together: `creditCard_no` has credit, card, no, creditcard, cardno … */
export function namePieces(name: string): ReadonlySet<string> {
  const words = name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '')
  const pieces = words.flatMap((_, at) => [1, 2, 3].map((length) => words.slice(at, at + length).join('')))
  return new Set(pieces)
}

function judgeContent(
  { looksLike, contentConfidence = 0, noun }: Kind,
  values: readonly string[],
): Evidence | null {
  if (!looksLike || values.length < fewestValues) return null
  const share = values.filter((value) => looksLike(value.trim())).length / values.length
  if (share < leastShare) return null
  return {
    confidence: contentConfidence * share,
    reason: `${Math.round(share * 100)} % of ${values.length} sampled values look like ${noun}`,
  }
}

/** A boolean `has_email` holds no address, and a date no telephone number. */
function suits({ baseName, category }: Judged, { types }: Kind): boolean {
  if (baseName === 'bool' || category === 'A') return false
  const isText = category === 'S' || baseName === 'json' || baseName === 'jsonb'
  const isNumber = category === 'N' && baseName !== 'oid'
  if (types === 'text') return isText
  if (types === 'number') return isNumber
  return isText || isNumber || category === 'D' || category === 'I' || baseName === 'bytea'
}
