type State =
  | { readonly kind: 'plain' | 'name' }
  | { readonly kind: 'string'; readonly escapes: boolean }
  | { readonly kind: 'dollar'; readonly tag: string }
  | { readonly kind: 'comment'; readonly depth: number }

const word = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const number = /\d+(\.\d*)?([eE][+-]?\d+)?/y
const dollarTag = /\$([A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y

/**
 * Cuts a script into statements at the semicolons that end one, line by line, as psql does: not in strings, names,
 * dollar quotes, comments, parentheses and bodies of functions between BEGIN ATOMIC and END.
 */
export class StatementSplitter {
  /** What the server reports; with it off, a backslash escapes in every string. */
  standardStrings = true
  #text = ''
  #state: State = { kind: 'plain' }
  #parentheses = 0
  #blocks = 0
  #words: string[] = []
  /** A string that a line break and nothing else may follow before its next piece: whether backslashes escape in it. */
  #continued: boolean | undefined

  /** Takes the next line, with its line break, and returns the statements that end in it. */
  push(line: string): string[] {
    const done: string[] = []
    let start = 0
    let at = 0
    while (at < line.length) {
      const isEnd = this.#state.kind === 'plain' && line[at] === ';' && this.#isTop()
      at = isEnd ? at + 1 : this.#step(line, at)
      if (!isEnd) continue
      done.push(this.#text + line.slice(start, at))
      start = at
      this.reset()
    }
    this.#text += line.slice(start)
    if (this.isEmpty) this.#text = ''
    return done.map((text) => text.trim()).filter((text) => text !== ';')
  }

  /** What is left at the end of a script, which needs no semicolon. */
  rest(): string {
    const text = this.#text.trim()
    this.reset()
    return text
  }

  reset(): void {
    this.#text = ''
    this.#state = { kind: 'plain' }
    this.#parentheses = 0
    this.#blocks = 0
    this.#words = []
    this.#continued = undefined
  }

  get isEmpty(): boolean {
    return this.#text.trim() === ''
  }

  /** In the middle of a string, quoted name or comment, where a backslash is one. */
  get isQuoted(): boolean {
    return this.#state.kind !== 'plain'
  }

  /** The character of psql's prompt that says what is still open. */
  get open(): string {
    if (this.isEmpty) return '='
    const { kind } = this.#state
    if (kind !== 'plain') return { name: '"', string: "'", dollar: '$', comment: '*' }[kind]
    return this.#parentheses > 0 ? '(' : '-'
  }

  #isTop(): boolean {
    return this.#parentheses === 0 && this.#blocks === 0
  }

  #step(line: string, at: number): number {
    const state = this.#state
    switch (state.kind) {
      case 'plain':
        return this.#plain(line, at)
      case 'name':
        return this.#until(line, at, '"')
      case 'string':
        return this.#string(line, at, state.escapes)
      case 'dollar':
        return this.#until(line, at, state.tag)
      case 'comment':
        return this.#comment(line, at, state.depth)
    }
  }

  #plain(line: string, at: number): number {
    const char = line[at] ?? ''
    const pair = line.slice(at, at + 2)
    if (pair === '--') return line.length
    if (pair === '/*') return this.#enter({ kind: 'comment', depth: 1 }, at + 2)
    if (/\s/.test(char)) return at + 1
    const continued = this.#continued
    this.#continued = undefined
    if (char === "'")
      return this.#enter({ kind: 'string', escapes: continued ?? !this.standardStrings }, at + 1)
    if (char === '"') return this.#enter({ kind: 'name' }, at + 1)
    if (char === '(') this.#parentheses++
    if (char === ')') this.#parentheses = Math.max(0, this.#parentheses - 1)
    const tag = match(dollarTag, line, at)
    if (tag) return this.#enter({ kind: 'dollar', tag }, at + tag.length)
    const name = match(word, line, at)
    if (!name) return at + (match(number, line, at)?.length ?? 1)
    if (/^e$/i.test(name) && line[at + 1] === "'")
      return this.#enter({ kind: 'string', escapes: true }, at + 2)
    // U&'…' and the like: no backslash escapes a quote there, whatever the setting.
    if (/^[nbx]$/i.test(name) && line[at + 1] === "'")
      return this.#enter({ kind: 'string', escapes: false }, at + 2)
    this.#noteWord(name.toLowerCase())
    return at + name.length
  }

  #enter(state: State, at: number): number {
    this.#state = state
    return at
  }

  #until(line: string, at: number, end: string): number {
    const found = line.indexOf(end, at)
    if (found < 0) return line.length
    this.#state = { kind: 'plain' }
    return found + end.length
  }

  #string(line: string, at: number, escapes: boolean): number {
    if (escapes && line[at] === '\\') return at + 2
    if (line[at] !== "'") return at + 1
    if (line[at + 1] === "'") return at + 2
    this.#state = { kind: 'plain' }
    this.#continued = /^\s*$/.test(line.slice(at + 1)) ? escapes : undefined
    return at + 1
  }

  #comment(line: string, at: number, depth: number): number {
    const pair = line.slice(at, at + 2)
    if (pair === '/*') return this.#enter({ kind: 'comment', depth: depth + 1 }, at + 2)
    if (pair !== '*/') return at + 1
    return this.#enter(depth > 1 ? { kind: 'comment', depth: depth - 1 } : { kind: 'plain' }, at + 2)
  }

  #noteWord(name: string): void {
    if (this.#words.length < 4) this.#words.push(name)
    if (this.#parentheses > 0 || !/^create (or replace )?(function|procedure)\b/.test(this.#words.join(' ')))
      return
    if (name === 'begin' || (name === 'case' && this.#blocks > 0)) this.#blocks++
    if (name === 'end' && this.#blocks > 0) this.#blocks--
  }
}

function match(pattern: RegExp, line: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(line)?.[0]
}
