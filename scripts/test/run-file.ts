import path from 'node:path'
import { run } from 'node:test'
import { inspect } from 'node:util'
import { describeOutcome, indent, paint, type Report } from './tally.ts'

const testTimeoutMs = 5 * 60_000
// A file whose process does not end has left something open. Its tests have limits of their own, so that this
// only has to be longer than any silence of a healthy file.
const silenceTimeoutMs = testTimeoutMs + 30_000

interface Options {
  readonly namePattern: string | undefined
  readonly signal: AbortSignal
}

interface TestResult {
  readonly name: string
  readonly nesting: number
  readonly line?: number
  readonly column?: number
  readonly file?: string
  readonly skip?: string | boolean
  readonly todo?: string | boolean
  readonly details: { readonly type?: string; readonly error?: Error }
}

/** Runs a test file in a process of its own. */
export async function runFile(file: string, { namePattern, signal }: Options): Promise<Report> {
  const startedAt = performance.now()
  const silence = new AbortController()
  const results = new FileResults(file)
  const timer = setTimeout(() => {
    results.fail(`${file}: its process did not end: a test left a timer, a connection or a process open`)
    silence.abort()
  }, silenceTimeoutMs)

  const stream = run({
    files: [path.resolve(file)],
    isolation: 'process',
    timeout: testTimeoutMs,
    signal: AbortSignal.any([signal, silence.signal]),
    ...(namePattern === undefined ? {} : { testNamePatterns: new RegExp(namePattern) }),
  })
  try {
    for await (const { type, data } of stream as AsyncIterable<{ type: string; data: TestResult }>) {
      timer.refresh()
      results.take(type, data)
    }
  } finally {
    clearTimeout(timer)
  }
  return results.report(performance.now() - startedAt)
}

class FileResults {
  readonly #file: string
  readonly #failures: string[] = []
  readonly #notes: string[] = []
  readonly #output: string[] = []
  /** By depth: whether something was seen there since the last result one level up. */
  readonly #seenAt: boolean[] = []
  #passed = 0
  #skipped = 0
  #isEmpty = true

  constructor(file: string) {
    this.#file = file
  }

  take(type: string, data: TestResult): void {
    if (type === 'test:stdout' || type === 'test:stderr') this.#output.push(messageOf(data))
    if (type === 'test:diagnostic' && /^(Error|Warning): /.test(messageOf(data)))
      this.#notes.push(messageOf(data))
    if (type === 'test:pass' || type === 'test:fail') {
      if (data.name === path.resolve(this.#file)) this.#takeFile(data)
      else this.#takeTest(data)
    }
  }

  fail(text: string): void {
    this.#failures.push(text)
  }

  report(durationMs: number): Report {
    if (this.#isEmpty && this.#failures.length === 0) this.fail(`${this.#file}: holds no test`)
    const tally = { passed: this.#passed, failed: this.#failures.length, skipped: this.#skipped }
    const lines = [describeOutcome(this.#file, tally, durationMs)]
    if (tally.failed > 0) {
      lines.push(...this.#failures.map((text) => indent(`${paint('red', '✗')} ${text}`)))
      lines.push(...this.#notes.map(indent))
      const output = this.#output.join('').trimEnd()
      if (output) lines.push(indent(`what ${this.#file} printed:\n${indent(output)}`))
    }
    return { text: lines.join('\n'), tally }
  }

  /** The file itself is only reported when its process failed, or when there is no test in it. */
  #takeFile({ details: { error } }: TestResult): void {
    if (!error || this.#failures.length > 0) return
    const { exitCode, signal } = error as { exitCode?: number; signal?: string }
    const how = signal ? `was ended by ${signal}` : `ended with exit code ${exitCode}`
    this.fail(`${this.#file}: its process ${how}, though no test in it failed`)
  }

  #takeTest(result: TestResult): void {
    this.#isEmpty = false
    const { nesting, details } = result
    const hasChildren = this.#seenAt[nesting + 1] === true
    this.#seenAt[nesting + 1] = false
    this.#seenAt[nesting] = true
    if (isMarked(result.skip) || isMarked(result.todo)) this.#skipped++
    else if (details.error) {
      if (!isCausedByChildren(details.error)) this.fail(describeFailure(result, details.error))
    } else if (!hasChildren && details.type !== 'suite') this.#passed++
  }
}

function isMarked(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false
}

function isCausedByChildren(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed'
}

function describeFailure({ name, file, line, column }: TestResult, error: Error): string {
  const where = file ? ` (${path.relative('', file)}:${line}:${column})` : ''
  const cause = error.cause instanceof Error ? error.cause : (error.cause ?? error.message)
  const text = typeof cause === 'string' ? cause : inspect(cause, { depth: 8 })
  const lines = text
    .split('\n')
    .filter((each) => !/^\s+at .*\bnode:.*[^{]$|lines matching cause stack/.test(each))
  return `${name}${where}\n${indent(lines.join('\n'))}`
}

function messageOf(data: object): string {
  return 'message' in data && typeof data.message === 'string' ? data.message : ''
}
