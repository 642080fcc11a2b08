import { scan } from './scan.ts'

/**
 * The same text for a parser that takes backslashes in plain strings as they are: those that escape something, and what
 * they escape, become other characters of the same length. Undefined: it is not certain where a string ends.
 */
export function maskEscapes(text: string): string | undefined {
  const pieces: string[] = []
  let end = 0
  const isCertain = scan(text, true, (piece, from, to) => {
    if (piece !== 'plain string') return undefined
    const masked = text
      .slice(from, to)
      .replace(/\\([\s\S])/g, (_pair, escaped: string) => `_${/['\\]/.test(escaped) ? '_' : escaped}`)
    pieces.push(text.slice(end, from), masked)
    end = to
    return undefined
  })
  return isCertain ? pieces.join('') + text.slice(end) : undefined
}
