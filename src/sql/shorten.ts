import { Lexer } from './lexer.ts'
import { placeInOriginal, type Splice } from './splice.ts'

export interface Shortened {
  readonly text: string
  /** Splices of the short text in the long one, both in bytes of UTF-8. */
  place(splices: readonly Splice[]): Splice[]
}

const nothing = Buffer.alloc(0)
const isLiteralWord = /^(null|true|false|default)$/i
/** Of everything else: what has more is not for the parser, short or not. */
const maxOthers = 10_000

/**
 * Lists of literals become one of them, `in (1,2,3)` becomes `in (1)` and `values (1,'a'),(2,'b')` becomes `values (1)`: the
 * same names stand in what is left, and a parser has little to do. Undefined: it is not certain where a literal ends.
 */
export function shorten(text: string): Shortened | undefined {
  const lists = new Lists()
  const lexer = new Lexer(text)
  let others = 0
  while (lists.depth < maxOthers && others < maxOthers && lexer.next()) {
    const { kind, from, to } = lexer
    if (kind === 'sign' && lists.addSign(text, from)) continue
    if (kind === 'word' && lists.addType(to)) continue
    const isWord = kind === 'word' && !(to - from < 8 && isLiteralWord.test(text.slice(from, to)))
    if (isWord || kind === 'name' || kind === 'sign') {
      lists.interrupt()
      others++
    } else lists.addLiteral(from, to)
  }
  const isRead = lexer.kind === 'end' && lexer.isCertain
  return isRead && lists.cuts.length > 0 ? removeCuts(text, lists.cuts) : undefined
}

const literal = 1
const open = 2
const comma = 3
const minus = 4
const cast = 5

/** A stack of elements that may still become part of a list. */
class Lists {
  readonly cuts: { from: number; to: number }[] = []
  #kinds: number[] = []
  #froms: number[] = []
  #tos: number[] = []

  get depth(): number {
    return this.#kinds.length
  }

  /** Nothing before this can be in a list with what follows. */
  interrupt(): void {
    this.#keep(0)
  }

  addLiteral(from: number, to: number): void {
    const top = this.#kinds.length - 1
    const at = this.#kinds[top] === minus ? top - 1 : top
    if (this.#kinds[at] !== comma || this.#kinds[at - 1] !== literal) {
      this.#push(literal, from, to)
      return
    }
    this.#keep(at)
    this.#cut(this.#tos[at - 1] ?? 0, to)
    this.#tos[at - 1] = to
  }

  /** False: it is no sign of a list. */
  addSign(text: string, from: number): boolean {
    const top = this.#kinds.length - 1
    switch (text[from]) {
      case '(':
        this.#push(open, from, from + 1)
        return true
      case ',':
        this.#push(comma, from, from + 1)
        return true
      case '-':
        this.#push(minus, from, from + 1)
        return true
      case ')': {
        if (this.#kinds[top] !== literal || this.#kinds[top - 1] !== open) return false
        const start = this.#froms[top - 1] ?? 0
        this.#keep(top - 1)
        this.addLiteral(start, from + 1)
        return true
      }
      case ':':
        if (this.#kinds[top] === cast) return true
        if (this.#kinds[top] !== literal || text[from + 1] !== ':') return false
        this.#push(cast, from, from + 2)
        return true
      default:
        return false
    }
  }

  /** The type that a literal is cast to. False: nothing is cast. */
  addType(to: number): boolean {
    const top = this.#kinds.length - 1
    if (this.#kinds[top] !== cast) return false
    this.#keep(top)
    const end = this.#tos[top - 1] ?? 0
    if (this.cuts.at(-1)?.to === end) this.#cut(end, to)
    this.#tos[top - 1] = to
    return true
  }

  #push(kind: number, from: number, to: number): void {
    this.#kinds.push(kind)
    this.#froms.push(from)
    this.#tos.push(to)
  }

  #keep(count: number): void {
    this.#kinds.length = count
    this.#froms.length = count
    this.#tos.length = count
  }

  /** Cuts a range. An earlier cut within it becomes part of it. */
  #cut(from: number, to: number): void {
    while ((this.cuts.at(-1)?.from ?? -1) >= from) this.cuts.pop()
    const last = this.cuts.at(-1)
    if (last?.to === from) last.to = to
    else this.cuts.push({ from, to })
  }
}

function removeCuts(text: string, cuts: readonly { from: number; to: number }[]): Shortened {
  const kept: string[] = []
  const removed: Splice[] = []
  let end = 0
  let bytes = 0
  for (const { from, to } of cuts) {
    const piece = text.slice(end, from)
    kept.push(piece)
    const at = bytes + Buffer.byteLength(piece)
    bytes = at + Buffer.byteLength(text.slice(from, to))
    removed.push({ from: at, to: bytes, text: nothing })
    end = to
  }
  return {
    text: kept.join('') + text.slice(end),
    place: (splices) =>
      splices.map(({ from, to, text }) => ({
        from: placeInOriginal(removed, from),
        to: placeInOriginal(removed, to, to > from),
        text,
      })),
  }
}
