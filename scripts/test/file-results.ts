import { describeDuration, describeOutcome, indent, paint, type Report } from './tally.ts'

/** The report of a shard about a test or suite that ended. The file itself is the suite with nesting 0. */
export interface TestEnd {
  readonly name: string
  readonly durationMs: number
  readonly nesting: number
  readonly isSuite: boolean
  readonly isSkipped: boolean
  readonly failure?: {
    /** The name of the test, its place and its error. */
    readonly text: string
    readonly isCausedByChildren: boolean
  }
}

/** Collects what one file's tests did, and what it printed meanwhile. */
export class FileResults {
  readonly #file: string
  readonly #startedAt = performance.now()
  readonly #failures: string[] = []
  readonly #output: string[] = []
  readonly #slow: string[] = []
  readonly #notes: string[] = []
  readonly #slowFromMs: number
  /** By depth: whether a test ended there since the last one that ended a level above. */
  readonly #seenAt: boolean[] = []
  #passed = 0
  #skipped = 0

  /** Names the tests that take `slowFromMs` or longer. */
  constructor(file: string, slowFromMs = Number.POSITIVE_INFINITY) {
    this.#file = file
    this.#slowFromMs = slowFromMs
  }

  get hasFailed(): boolean {
    return this.#failures.length > 0
  }

  take({ name, durationMs, nesting, isSuite, isSkipped, failure }: TestEnd): void {
    if (durationMs >= this.#slowFromMs && nesting > 0)
      this.#slow.push(`${'  '.repeat(nesting)}${describeDuration(durationMs)} ${name}`)
    const hasChildren = this.#seenAt[nesting + 1] === true
    this.#seenAt[nesting + 1] = false
    this.#seenAt[nesting] = true
    if (isSkipped) this.#skipped++
    else if (failure) {
      if (!failure.isCausedByChildren) this.fail(failure.text)
    } else if (!hasChildren && !isSuite) this.#passed++
  }

  takeOutput(text: string): void {
    this.#output.push(text)
  }

  note(text: string): void {
    this.#notes.push(text)
  }

  fail(text: string): void {
    this.#failures.push(text)
  }

  report(): Report {
    if (this.#passed + this.#skipped + this.#failures.length === 0) this.fail(`${this.#file}: holds no test`)
    const tally = { passed: this.#passed, failed: this.#failures.length, skipped: this.#skipped }
    const durationMs = performance.now() - this.#startedAt
    const lines = [describeOutcome(this.#file, tally, durationMs)]
    lines.push(...this.#slow, ...this.#notes.map((note) => paint('dim', indent(note))))
    if (tally.failed > 0) {
      lines.push(...this.#failures.map((text) => indent(`${paint('red', '✗')} ${text}`)))
      const output = this.#output.join('').trimEnd()
      if (output) lines.push(indent(`what ${this.#file} printed:\n${indent(output)}`))
    }
    return { text: lines.join('\n'), tally, took: { file: this.#file, durationMs } }
  }
}
