import type { Judgement } from '../../contracts/inspection.ts'
import { fits } from '../../masks/plan/expressions.ts'
import { matchName, type NameMatch } from './judge-name.ts'
import { type Form, type Kind, kinds } from './kinds.ts'

/** A column as it is judged. */
export interface Judged {
  readonly name: string
  readonly table?: string
  /** pg_type.typname and typcategory, for a domain of the type below it, for an array of its elements. */
  readonly baseName: string
  readonly category: string
  readonly isArray?: boolean
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
  if (isJson(column)) return judgeJson(column, values)
  return choose(column, formOf(column), values)
}

/** Judged by its keys: `profile` may hold an address under `email`. */
function judgeJson(column: Judged, documents: readonly string[]): Judgement | null {
  const found = [...listJsonFields(documents)].flatMap(([key, values]) => {
    const named = { ...column, name: key, table: '' }
    return choose(named, values.every(isNumeric) ? 'number' : 'text', values, true) ?? []
  })
  const byName = choose(column, 'text', [])
  return [...found, ...(byName ? [byName] : [])].sort((a, b) => b.confidence - a.confidence)[0] ?? null
}

const isNumeric = (value: string) => /^-?\d+(\.\d+)?$/.test(value)

function choose(
  column: Judged,
  form: Form | undefined,
  values: readonly string[],
  isKey = false,
): Judgement | null {
  const matches = new Map(matchName(column.name, column.table).map((match) => [match.kind, match]))
  const judged = kinds
    .filter(({ forms }) => form !== undefined && forms.includes(form))
    .map((kind) => judgeAs(kind, column, matches.get(kind), values, isKey))
    .filter(({ confidence }) => confidence >= leastConfidence)
    .sort((a, b) => b.confidence - a.confidence)
  return judged[0] ?? null
}

function judgeAs(
  kind: Kind,
  column: Judged,
  match: NameMatch | undefined,
  values: readonly string[],
  isKey: boolean,
): Judgement {
  // `ip` may be many things, but not in a column for network addresses.
  const named = match && { ...match, isHint: match.isHint && formOf(column) !== 'network' }
  const found = [named && judgeName(named, isKey), judgeContent(kind, values, isKey)].filter((one) => !!one)
  const doubt = found.reduce((left, { confidence }) => left * (1 - confidence), 1)
  const isWhole = column.isArray || !fits(column, kind.suggestion)
  return {
    kind: kind.kind,
    confidence: Math.round((1 - doubt) * 100) / 100,
    reasons: found.map(({ reason }) => reason),
    suggestion: isWhole ? { maskingFunction: 'Default' } : kind.suggestion,
  }
}

interface Evidence {
  readonly confidence: number
  readonly reason: string
}

/** The word is the kind's own, and never the key itself: keys may be values. */
function judgeName({ kind, word, isHint }: NameMatch, isKey: boolean): Evidence {
  const subject = isKey ? 'one of its keys' : 'its name'
  return {
    confidence: isHint ? hintConfidence : wordConfidence,
    reason: `${subject} has '${word}' in it, as ${kind.noun} ${isHint ? 'might' : 'would'}`,
  }
}

function judgeContent(
  { looksLike, contentConfidence = 0, leastShare = usualShare, noun }: Kind,
  values: readonly string[],
  isKey: boolean,
): Evidence | null {
  if (!looksLike || values.length < fewestValues) return null
  const count = values.filter((value) => looksLike(value.trim())).length
  const share = count / values.length
  const place = isKey ? ' under one of its keys' : ''
  if (share < leastShare || count < fewestFound) return null
  return {
    confidence: leastShare < usualShare ? contentConfidence : contentConfidence * share,
    reason: `${Math.round(share * 100)} % of ${values.length} sampled values${place} look like ${noun}`,
  }
}

const isJson = ({ baseName }: Judged) => baseName === 'json' || baseName === 'jsonb'

/** A boolean `has_email` holds no address, and a date no telephone number. Undefined: nothing that is looked for. */
function formOf({ baseName, category }: Judged): Form | undefined {
  if (category === 'S' || baseName === 'hstore' || baseName === 'xml') return 'text'
  if (category === 'N' && baseName !== 'oid') return 'number'
  if (category === 'D') return 'date'
  if (category === 'I' || baseName === 'macaddr' || baseName === 'macaddr8') return 'network'
  return baseName === 'bytea' ? 'binary' : undefined
}

const mostKeys = 200
const deepest = 6

/**
 * The scalars under each key of sampled documents, wherever it stands. Documents that were cut are read as far as they
 * go. Keys may be values themselves: they are looked at for their words, and never shown.
 */
function listJsonFields(documents: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>()
  const add = (key: string, value: unknown, depth: number): void => {
    if (value === null || depth > deepest) return
    if (Array.isArray(value)) for (const each of value) add(key, each, depth + 1)
    else if (typeof value === 'object')
      for (const [name, each] of Object.entries(value)) add(name, each, depth + 1)
    else if (typeof value !== 'boolean') {
      const known = fields.get(key)
      if (known) known.push(String(value))
      else if (fields.size < mostKeys) fields.set(key, [String(value)])
    }
  }
  for (const document of documents) {
    const whole = parse(document)
    if (whole === undefined) for (const [, key = '', text = ''] of document.matchAll(pair)) add(key, text, 0)
    else add('', whole, 0)
  }
  return fields
}

/** A key and a string or number after it. */
const pair = /"([^"\\]{1,80})"\s*:\s*"?([^"\\{}[\],]{1,200})/g

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
