import { Lexer } from './lexer.ts'
import { refuseSql } from './refusal.ts'

/**
 * Where a name of so many parts ends that begins at `from`: quoted or not, with spaces and comments between its parts. Texts
 * are bytes of UTF-8 with one character for each, as positions of the parser count.
 */
export function findNameEnd(text: string, from: number, parts: number): number {
  const lexer = new Lexer(text, { at: from })
  lexer.next()
  for (let part = 1; ; part++) {
    const end = stepOverPart(lexer)
    if (part === parts) return end
    if (!lexer.is('.')) refuseSql('NameNotFound')
    lexer.next()
  }
}

/** The end of a list in parentheses of plain names that begins here, or undefined where there is none. */
export function findListEnd(text: string, from: number): number | undefined {
  const lexer = new Lexer(text, { at: from })
  if (!lexer.next() || !lexer.is('(')) return undefined
  for (;;) {
    lexer.next()
    stepOverPart(lexer)
    if (lexer.is(')')) return lexer.to
    if (!lexer.is(',')) refuseSql('NameNotFound')
  }
}

/** Returns where the part ends, with `UESCAPE '!'` behind it, and steps to the token after it. */
function stepOverPart(lexer: Lexer): number {
  if (lexer.kind !== 'word' && lexer.kind !== 'name') refuseSql('NameNotFound')
  let end = lexer.to
  const isQuoted = lexer.kind === 'name'
  lexer.next()
  if (isQuoted && lexer.isWord('uescape')) {
    lexer.next()
    end = lexer.to
    lexer.next()
  }
  return end
}
