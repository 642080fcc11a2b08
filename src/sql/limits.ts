import { Lexer } from './lexer.ts'
import { refuseSql } from './refusal.ts'

/** How much of a text is parsed and resolved. Together they bound the time: nothing in here can be interrupted. */
export interface Limits {
  /** Of the text, in UTF-8. */
  readonly bytes: number
  /** Words, names and signs. Literals, brackets, commas and dots are not counted. */
  readonly tokens: number
  /** Of the syntax tree: brackets and what can be chained without them. */
  readonly depth: number
  /** Objects of the syntax tree. */
  readonly nodes: number
  /** Of the analysis, as `Effort` counts them: references times the sources that each may mean. */
  readonly steps: number
}

/**
 * PostgreSQL's parser recurses through its trees on the stack of this process, of which one step of depth takes at most
 * 300 bytes: a third of the stack stays for callers.
 */
const depth = 2_000

/** Statements come one after the other and other sessions wait for them. Long lists of literals are cut out before. */
export const statementLimits: Limits = { bytes: 65_536, tokens: 3_000, depth, nodes: 100_000, steps: 200_000 }

/** Definitions of views are parsed once for a change of the rules; a view may have 1,600 columns. */
export const viewLimits: Limits = {
  bytes: 1_048_576,
  tokens: 50_000,
  depth,
  nodes: 1_000_000,
  steps: 10_000_000,
}

/** Words that nest the tree deeper with each repetition and without brackets, and by how much. */
const chained = new Map(
  `not is isnull notnull collate at like ilike similar between in operator join union except intersect case:3 select:3`
    .split(' ')
    .map((word) => word.split(':'))
    .map(([word = '', weight = '1']) => [word, Number(weight)]),
)
const setOperations = new Set(['union', 'except', 'intersect'])
const longestChained = 9

/** Refuses a text that is over a limit, without parsing it. The depth is never less than that of the tree. */
export function checkText(text: string, limits: Limits): void {
  if (text.length > limits.bytes || Buffer.byteLength(text) > limits.bytes) refuseSql('TooLong')
  const lexer = new Lexer(text)
  const depth = new DepthBound()
  let tokens = 0
  while (lexer.next()) {
    if (lexer.kind === 'word') depth.addWord(text, lexer.from, lexer.to)
    if (lexer.kind === 'sign' && depth.addSign(text[lexer.from] ?? '')) continue
    if (lexer.kind === 'word' || lexer.kind === 'name' || lexer.kind === 'sign') tokens++
    if (tokens > limits.tokens) refuseSql('TooLong')
    if (depth.now > limits.depth) refuseSql('TooDeep')
  }
  if (!lexer.isCertain) refuseSql('NotSql')
}

class DepthBound {
  now = 0
  /** Where a comma leads back to: the items of a list nest no deeper than each by itself. */
  #listed = 0
  /** Of the brackets around: what was before them, and before their list. */
  readonly #open: number[] = []

  /** True: a bracket, comma or the like, which nests by itself. */
  addSign(sign: string): boolean {
    switch (sign) {
      case '(':
      case '[':
        this.#open.push(this.now, this.#listed)
        this.#listed = ++this.now
        return true
      case ')':
      case ']':
        this.#listed = this.#open.pop() ?? this.#listed
        this.now = this.#open.pop() ?? this.now
        return true
      case ',':
        this.now = this.#listed
        return true
      case ';':
        if (this.#open.length === 0) this.now = this.#listed = 0
        return true
      case '.':
        return true
      default:
        this.now++
        return false
    }
  }

  addWord(text: string, from: number, to: number): void {
    if (to - from > longestChained) return
    const word = text.slice(from, to).toLowerCase()
    const weight = chained.get(word) ?? 0
    this.now += weight
    // `select a, b union select c, d`: commas are inside of the sides.
    if (setOperations.has(word)) this.#listed += weight
  }
}
