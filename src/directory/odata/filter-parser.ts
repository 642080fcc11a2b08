import { fail } from '../../kernel/problem.ts'
import { uuidPattern } from '../../kernel/uuid.ts'

export type Literal = string | number | boolean | null

export type Comparison = 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le'

/** `property` is a path: `displayName`, `web/homePageUrl`, `members/$count`, or `g/id` for the variable `g`. */
export type Filter =
  | { readonly op: 'and' | 'or'; readonly left: Filter; readonly right: Filter }
  | { readonly op: 'not'; readonly inner: Filter }
  | { readonly op: Comparison; readonly property: string; readonly value: Literal }
  | { readonly op: 'in'; readonly property: string; readonly values: readonly Literal[] }
  | { readonly op: 'startswith' | 'endswith'; readonly property: string; readonly value: string }
  /** Without a condition, `any()` is true where there is an item. */
  | {
      readonly op: 'any' | 'all'
      readonly property: string
      readonly variable?: string
      readonly inner?: Filter
    }

const maxLength = 4096
const maxDepth = 16
const maxTerms = 100
const maxListed = 100
const maxSteps = 4

const text = /'(?:[^']|'')*'/
const dateTime = /\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?/
const number = /-?\d+(?:\.\d+)?/
const word = /\$count|[A-Za-z_][\w.]*/
const token = new RegExp(
  `\\s*(?:(${text.source})|(${dateTime.source})|(${uuidPattern})|(${number.source})|(${word.source})|([(),:/]))`,
  'iy',
)

interface Token {
  readonly kind: 'literal' | 'word' | 'mark'
  readonly text: string
  readonly value?: Literal
}

/** Parses a `$filter`, or refuses it with the reason; no part of it is ever skipped. */
export function parseFilter(text: string): Filter {
  if (text.length > maxLength) refuse(`is longer than ${maxLength} characters`)
  const parser = new FilterParser(tokenize(text))
  const filter = parser.readOr(0)
  parser.expectEnd()
  return filter
}

function refuse(reason: string): never {
  return fail('InvalidQueryOption', { option: '$filter', reason })
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  token.lastIndex = 0
  while (text.slice(token.lastIndex).trim() !== '') {
    const start = token.lastIndex
    const match = token.exec(text)
    if (!match) return refuse(`cannot be read at position ${start}`)
    const [, quoted, time, guid, number, word, mark] = match
    if (quoted !== undefined)
      tokens.push({ kind: 'literal', text: quoted, value: quoted.slice(1, -1).replaceAll("''", "'") })
    else if (time ?? guid)
      tokens.push({ kind: 'literal', text: time ?? guid ?? '', value: time ?? guid ?? '' })
    else if (number !== undefined) tokens.push({ kind: 'literal', text: number, value: Number(number) })
    else if (word !== undefined) tokens.push(readWord(word))
    else tokens.push({ kind: 'mark', text: mark ?? '' })
  }
  return tokens
}

const constants = new Map<string, Literal>([
  ['true', true],
  ['false', false],
  ['null', null],
])

function readWord(word: string): Token {
  const value = constants.get(word.toLowerCase())
  return value === undefined ? { kind: 'word', text: word } : { kind: 'literal', text: word, value }
}

class FilterParser {
  readonly #tokens: readonly Token[]
  #at = 0
  #terms = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  readOr(depth: number): Filter {
    let left = this.#readAnd(depth)
    while (this.#takeWord('or')) left = { op: 'or', left, right: this.#readAnd(depth) }
    return left
  }

  #readAnd(depth: number): Filter {
    let left = this.#readTerm(depth)
    while (this.#takeWord('and')) left = { op: 'and', left, right: this.#readTerm(depth) }
    return left
  }

  #readTerm(depth: number): Filter {
    if (depth > maxDepth) refuse(`is nested deeper than ${maxDepth} levels`)
    if (++this.#terms > maxTerms) refuse(`has more than ${maxTerms} terms`)
    if (this.#takeWord('not')) return { op: 'not', inner: this.#readTerm(depth + 1) }
    if (this.#takeMark('(')) {
      const inner = this.readOr(depth + 1)
      this.#expectMark(')')
      return inner
    }
    const name = this.#readName()
    if (this.#peekMark('(')) return this.#readFunction(name)
    return this.#readCondition(name, depth)
  }

  #readFunction(name: string): Filter {
    const op = name.toLowerCase()
    if (op !== 'startswith' && op !== 'endswith')
      return refuse(`uses the function '${name.slice(0, 50)}', which is not supported`)
    this.#expectMark('(')
    const property = this.#readPath(this.#readName())
    this.#expectMark(',')
    const value = this.#readLiteral()
    this.#expectMark(')')
    if (typeof value !== 'string') return refuse(`compares ${op} with something that is no string`)
    if (this.#takeWord('eq')) {
      const expected = this.#readLiteral()
      if (expected === false) return { op: 'not', inner: { op, property, value } }
      if (expected !== true) refuse(`compares ${op} with something that is no Boolean`)
    }
    return { op, property, value }
  }

  /** A comparison, or a condition on the items of a collection: `groupTypes/any(c:c eq 'Unified')`. */
  #readCondition(name: string, depth: number): Filter {
    const path = this.#readPath(name)
    const cut = path.lastIndexOf('/')
    const op = path.slice(cut + 1).toLowerCase()
    if (!this.#peekMark('(')) return this.#readComparison(path)
    if ((op !== 'any' && op !== 'all') || cut < 0)
      return refuse(`uses '/${op.slice(0, 50)}', which is not supported`)
    return this.#readLambda(op, path.slice(0, cut), depth)
  }

  #readLambda(op: 'any' | 'all', property: string, depth: number): Filter {
    this.#expectMark('(')
    if (op === 'any' && this.#takeMark(')')) return { op, property }
    const variable = this.#readName()
    this.#expectMark(':')
    const inner = this.readOr(depth + 1)
    this.#expectMark(')')
    return { op, property, variable, inner }
  }

  #readPath(name: string): string {
    let path = name
    for (let steps = 0; this.#takeMark('/'); steps++) {
      if (steps >= maxSteps) refuse(`has a path of more than ${maxSteps} steps`)
      path += `/${this.#readName()}`
    }
    return path
  }

  #readComparison(property: string): Filter {
    const operator = this.#readName().toLowerCase()
    switch (operator) {
      case 'eq':
      case 'ne':
      case 'gt':
      case 'ge':
      case 'lt':
      case 'le':
        return { op: operator, property, value: this.#readLiteral() }
      case 'in':
        return { op: 'in', property, values: this.#readList() }
      default:
        return refuse(`uses the operator '${operator.slice(0, 50)}', which is not supported`)
    }
  }

  #readList(): Literal[] {
    this.#expectMark('(')
    const values = [this.#readLiteral()]
    while (this.#takeMark(',')) values.push(this.#readLiteral())
    this.#expectMark(')')
    if (values.length > maxListed) refuse(`lists more than ${maxListed} values`)
    return values
  }

  #readName(): string {
    const next = this.#tokens[this.#at++]
    return next?.kind === 'word' ? next.text : refuse(`has ${describe(next)} where a name is expected`)
  }

  #readLiteral(): Literal {
    const next = this.#tokens[this.#at++]
    return next?.value !== undefined ? next.value : refuse(`has ${describe(next)} where a value is expected`)
  }

  #takeWord(word: string): boolean {
    const next = this.#tokens[this.#at]
    const found = next?.kind === 'word' && next.text.toLowerCase() === word
    if (found) this.#at++
    return found
  }

  #peekMark(mark: string): boolean {
    const next = this.#tokens[this.#at]
    return next?.kind === 'mark' && next.text === mark
  }

  #takeMark(mark: string): boolean {
    const found = this.#peekMark(mark)
    if (found) this.#at++
    return found
  }

  #expectMark(mark: string): void {
    if (!this.#takeMark(mark)) refuse(`has ${describe(this.#tokens[this.#at])} where '${mark}' is expected`)
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length) refuse(`has ${describe(this.#tokens[this.#at])} where it should end`)
  }
}

function describe(token: Token | undefined): string {
  return token ? `'${token.text.slice(0, 50)}'` : 'its end'
}
