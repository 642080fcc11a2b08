export interface Splice {
  /** Bytes of the client's text. */
  readonly from: number
  readonly to: number
  readonly text: Buffer
}

/** In the order of the text. The parser shows a subquery that several columns are set from once for each of them. */
export function orderSplices(splices: readonly Splice[]): Splice[] {
  const sorted = splices.toSorted((a, b) => a.from - b.from || a.to - b.to)
  return sorted.filter(({ from, to }, at) => from !== sorted[at - 1]?.from || to !== sorted[at - 1]?.to)
}

/**
 * From a byte of the spliced text to the one of the original. Inside of a text that was put there, it is where that begins.
 * `isEnd`: the place is where something ends, and nothing that was cut out there belongs to it.
 */
export function placeInOriginal(splices: readonly Splice[], at: number, isEnd = false): number {
  let shift = 0
  for (const { from, to, text } of splices) {
    const start = from - shift
    if (at < start || (isEnd && at === start)) break
    if (at < start + text.length) return from
    shift += to - from - text.length
  }
  return at + shift
}

/** From a byte of the original to the one of the spliced text; inside of what was cut out, it is where that began. */
export function placeInSpliced(splices: readonly Splice[], at: number, isEnd = false): number {
  let shift = 0
  for (const { from, to, text } of splices) {
    if (at < from || (isEnd && at === from)) break
    if (at < to) return from + shift
    shift += text.length - (to - from)
  }
  return at + shift
}

export interface Rewritten {
  /** The client's text. */
  readonly original: Buffer
  readonly splices: readonly Splice[]
  /** Characters in bytes of its encoding. */
  readonly count: (bytes: Buffer) => number
}

/** From a character of the text that the database saw to the one of the client's own. Both count from 1. */
export function mapPosition({ original, splices, count }: Rewritten, position: number): number {
  let seen = 0
  let own = 0
  let end = 0
  for (const { from, to, text } of splices) {
    const kept = count(original.subarray(end, from))
    if (position <= seen + kept) break
    seen += kept
    own += kept
    // Inside of a name that we put there, the client's name begins here.
    if (position <= seen + count(text)) return own + 1
    seen += count(text)
    own += count(original.subarray(from, to))
    end = to
  }
  return own + (position - seen)
}

export function join(text: Buffer, splices: readonly Splice[]): Buffer {
  return joinFrame(text, 0, 0, text.length, splices)
}

/** The bytes from `from` to `to`, with the splices put into the text that begins at `textFrom`. */
export function joinFrame(
  bytes: Buffer,
  from: number,
  textFrom: number,
  to: number,
  splices: readonly Splice[],
): Buffer {
  let length = to - from
  for (const splice of splices) length += splice.text.length - (splice.to - splice.from)
  const joined = Buffer.allocUnsafe(length)
  let at = 0
  let end = from
  for (const splice of splices) {
    at = copy(bytes, end, textFrom + splice.from, joined, at)
    at = copy(splice.text, 0, splice.text.length, joined, at)
    end = textFrom + splice.to
  }
  copy(bytes, end, to, joined, at)
  return joined
}

/** Most pieces are so short that a call into the engine takes longer than to move them by hand. */
const shortBytes = 256

/** Returns where it stopped. */
function copy(bytes: Buffer, from: number, to: number, into: Buffer, at: number): number {
  const end = at + to - from
  if (to - from > shortBytes) bytes.copy(into, at, from, to)
  else for (let index = at; index < end; index++) into[index] = bytes[from + index - at] ?? 0
  return end
}
