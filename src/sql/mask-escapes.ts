import { Lexer } from './lexer.ts'

/**
 * The same text for a parser that takes backslashes in plain strings as they are: those that escape something, and what
 * they escape, become other characters of the same length. Undefined: it is not certain where a string ends.
 */
export function maskEscapes(text: string): string | undefined {
  const pieces: string[] = []
  let end = 0
  const lexer = new Lexer(text, { hasEscapes: true })
  while (lexer.next()) {
    if (lexer.kind !== 'plain string') continue
    const masked = text
      .slice(lexer.from, lexer.to)
      .replace(/\\([\s\S])/g, (_pair, escaped: string) => `_${/['\\]/.test(escaped) ? '_' : escaped}`)
    pieces.push(text.slice(end, lexer.from), masked)
    end = lexer.to
  }
  return lexer.isCertain ? pieces.join('') + text.slice(end) : undefined
}
