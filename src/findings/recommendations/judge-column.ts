import type { Judgement } from '../../contracts/inspection.ts'
import { fits } from '../../masks/plan/expressions.ts'
import { matchName, type NameMatch } from './judge-name.ts'
import { type Form, type Kind, kinds } from './kinds.ts'

/** A column as it is judged. */
export interface Judged {
  readonly name: string
  readonly table?: string
  /** pg_type.typname and typcategory, for a domain of the type below it. */
  readonly baseName: string
  readonly category: string
}

const wordConfidence = 0.75
const hintConfidence = 0.35
const leastConfidence = 0.5
/** Fewer values than these say little. */
const fewestValues = 5
/** A column of something else has a few values that look right by chance. */
const usualShare = 0.6
/** Of a kind that is looked for inside of longer values. */
const fewestFound = 2

/** The kind of data that a column most likely holds, by its name and a sample; null when it looks harmless. */
export function judgeColumn(column: Judged, values: readonly string[]): Judgement | null {
  const form = formOf(column)
  const matches = new Map(matchName(column.name, column.table).map((match) => [match.kind, match]))
  const judged = kinds
    .filter(({ forms }) => form !== undefined && forms.includes(form))
    .map((kind) => judgeAs(kind, column, matches.get(kind), values))
    .filter(({ confidence }) => confidence >= leastConfidence)
    .sort((a, b) => b.confidence - a.confidence)
  return judged[0] ?? null
}

function judgeAs(
  kind: Kind,
  column: Judged,
  match: NameMatch | undefined,
  values: readonly string[],
): Judgement {
  // `ip` may be many things, but not in a column for network addresses.
  const named = match && { ...match, isHint: match.isHint && formOf(column) !== 'network' }
  const found = [named && judgeName(named), judgeContent(kind, values)].filter((one) => !!one)
  const doubt = found.reduce((left, { confidence }) => left * (1 - confidence), 1)
  return {
    kind: kind.kind,
    confidence: Math.round((1 - doubt) * 100) / 100,
    reasons: found.map(({ reason }) => reason),
    suggestion: fits(column, kind.suggestion) ? kind.suggestion : { maskingFunction: 'Default' },
  }
}

interface Evidence {
  readonly confidence: number
  readonly reason: string
}

function judgeName({ kind, word, isHint }: NameMatch): Evidence {
  return {
    confidence: isHint ? hintConfidence : wordConfidence,
    reason: `its name has '${word}' in it, as ${kind.noun} ${isHint ? 'might' : 'would'}`,
  }
}

function judgeContent(
  { looksLike, contentConfidence = 0, leastShare = usualShare, noun }: Kind,
  values: readonly string[],
): Evidence | null {
  if (!looksLike || values.length < fewestValues) return null
  const count = values.filter((value) => looksLike(value.trim())).length
  const share = count / values.length
  if (share < leastShare || count < fewestFound) return null
  return {
    confidence: leastShare < usualShare ? contentConfidence : contentConfidence * share,
    reason: `${Math.round(share * 100)} % of ${values.length} sampled values look like ${noun}`,
  }
}

/** A boolean `has_email` holds no address, and a date no telephone number. Undefined: nothing that is looked for. */
function formOf({ baseName, category }: Judged): Form | undefined {
  if (['S', 'A'].includes(category) || ['hstore', 'xml', 'json', 'jsonb'].includes(baseName)) return 'text'
  if (category === 'N' && baseName !== 'oid') return 'number'
  if (category === 'D') return 'date'
  if (category === 'I' || baseName === 'macaddr' || baseName === 'macaddr8') return 'network'
  return baseName === 'bytea' ? 'binary' : undefined
}
