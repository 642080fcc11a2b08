/** The masked columns that one statement touches; without its text and its values. */
export interface Touch {
  /** SELECT, UPDATE, COPY… */
  readonly kind: string
  /** Read through masks. */
  readonly masked: readonly string[]
  /** Read as they are. */
  readonly raw: readonly string[]
  readonly written: readonly string[]
  /** Those of a statement that was denied: it neither read nor wrote them. */
  readonly denied: readonly string[]
  /** It could not be looked into, as a whole or in part: it may have touched more. */
  readonly isUnparsed: boolean
  /** The same for the same. */
  readonly key: string
}

export interface CountedTouch extends Omit<Touch, 'key'> {
  /** How often. */
  readonly count: number
}

export interface Touched {
  readonly touches: readonly CountedTouch[]
  /** Statements beyond what is listed. */
  readonly leftOut: number
}

/** The audit effects of running a statement. */
export interface StatementEffect {
  /** Which statement of its text it is. Without: the first, as no other runs before that one. */
  readonly at?: number | undefined
  readonly touch?: Touch | undefined
  /** Masked columns that an error in its transaction may show. */
  readonly onError?: Touch | undefined
  /** It does not run yet, but under this name. */
  readonly prepares?: string | undefined
  /** It runs what has been prepared under these names. */
  readonly executes: readonly string[]
  /** By another search path it may touch more. */
  readonly dependsOnPath?: boolean | undefined
  /** Other statements of its text may have set that. */
  readonly isPathUnknown?: boolean | undefined
}

export interface Found {
  readonly masked: Set<string>
  readonly raw: Set<string>
  readonly written: Set<string>
  isUnparsed: boolean
}

export function nothingFound(): Found {
  return { masked: new Set(), raw: new Set(), written: new Set(), isUnparsed: false }
}

export function touchOf(kind: string, { masked, raw, written, isUnparsed }: Found): Touch | undefined {
  if (masked.size + raw.size + written.size === 0 && !isUnparsed) return undefined
  const [first = [], second = [], third = []] = [masked, raw, written].map((columns) => [...columns].sort())
  return createTouch(kind, isUnparsed, [first, second, third, []])
}

/** The same statement where it was denied. One whose columns are not known stays as it is. */
export function denyTouch(touch: Touch): Touch {
  const columns = new Set([...touch.masked, ...touch.raw, ...touch.written])
  return columns.size === 0 ? touch : createTouch(touch.kind, false, [[], [], [], [...columns].sort()])
}

function createTouch(kind: string, isUnparsed: boolean, lists: readonly (readonly string[])[]): Touch {
  const [masked = [], raw = [], written = [], denied = []] = lists
  return { kind, masked, raw, written, denied, isUnparsed, key: JSON.stringify([kind, isUnparsed, ...lists]) }
}

const unknown = touchOf('UNKNOWN', { ...nothingFound(), isUnparsed: true })

/** For a text that was not looked into: it may have read anything. */
export const unparsed: readonly StatementEffect[] = [{ touch: unknown, executes: [] }]
