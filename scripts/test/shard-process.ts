import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Cluster } from '../../test/support/cluster.ts'
import { FileResults } from './file-results.ts'
import type { ShardMessage, ShardOrder } from './shard-messages.ts'
import type { Report } from './tally.ts'

const program = fileURLToPath(new URL('shard.ts', import.meta.url))
const reporter = new URL('report-to-runner.ts', import.meta.url).href
// Tests have a limit of their own: a shard that is silent for longer than that is stuck in a loop.
const silenceBeyondTimeoutMs = 30_000
const endTimeoutMs = 30_000
// Most of what tests make is garbage at once: with more room for it, it is collected less often.
const youngGeneration = '--max-semi-space-size=64'

export interface ShardOptions {
  readonly namePattern: string | undefined
  readonly signal: AbortSignal
  /** For a whole file, and so for each of its tests. */
  readonly timeoutMs: number
  /** Tests that take as long are named. */
  readonly slowFromMs: number | undefined
}

/** The runner's side of a shard. */
export class ShardProcess {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  readonly #silenceTimeoutMs: number
  readonly #slowFromMs: number | undefined
  readonly #files: string[] = []
  readonly #strayErrors: string[] = []
  #hasFailed = false
  #silence: NodeJS.Timeout | undefined
  #current: FileResults | undefined
  #onFileEnd: (() => void) | undefined

  constructor({ namePattern, signal, timeoutMs, slowFromMs }: ShardOptions, clusters: readonly Cluster[]) {
    this.#slowFromMs = slowFromMs
    this.#silenceTimeoutMs = timeoutMs + silenceBeyondTimeoutMs
    const name = namePattern === undefined ? [] : [`--test-name-pattern=${namePattern}`]
    this.#child = fork(program, [String(timeoutMs), namePattern ?? ''], {
      execArgv: [
        youngGeneration,
        `--test-reporter=${reporter}`,
        '--test-reporter-destination=stdout',
        ...name,
      ],
      env: { ...process.env, MASQUERADE_TEST_CLUSTERS: JSON.stringify(clusters) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      signal,
      killSignal: 'SIGKILL',
    })
    this.#closed = once(this.#child, 'close').catch(() => {})
    this.#child.on('error', () => {})
    this.#child.on('message', (message: ShardMessage) => this.#take(message))
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => this.#current?.takeOutput(text))
  }

  /** After a failure, what the file left behind may be in the way of the next: the shard takes no more files. */
  get isUsable(): boolean {
    return !this.#hasFailed && this.#child.connected
  }

  async runFile(file: string): Promise<Report> {
    const results = new FileResults(file, this.#slowFromMs)
    this.#current = results
    this.#files.push(file)
    this.#silence = setTimeout(() => {
      results.fail(`${file}: nothing came from its process for ${this.#silenceTimeoutMs / 1000} seconds`)
      this.#child.kill('SIGKILL')
    }, this.#silenceTimeoutMs)
    const fileEnd = new Promise<void>((resolve) => {
      this.#onFileEnd = resolve
    })
    this.#order({ file: path.resolve(file) })
    await Promise.race([fileEnd, this.#closed])
    clearTimeout(this.#silence)
    if (!this.#child.connected && !results.hasFailed) results.fail(`${file}: its ${this.#describeEnd()}`)
    this.#hasFailed ||= results.hasFailed
    return results.report()
  }

  /** Ends the process. Resolves with a failure when an error came up late or the process does not end by itself. */
  async end(): Promise<Report | undefined> {
    let isLate = false
    const late = setTimeout(() => {
      isLate = true
      this.#child.kill('SIGKILL')
    }, endTimeoutMs)
    this.#order({ file: undefined })
    await this.#closed
    clearTimeout(late)
    if (this.#hasFailed || (!isLate && this.#child.exitCode === 0)) return undefined
    const reason = isLate
      ? 'their process did not end: one of them left a timer, a connection or a process open'
      : `their ${this.#describeEnd()}`
    const results = new FileResults('after the tests')
    results.fail([reason, ...this.#strayErrors, ...this.#files].join('\n'))
    return results.report()
  }

  #order(order: ShardOrder): void {
    if (this.#child.connected) this.#child.send(order)
  }

  #take(message: ShardMessage): void {
    this.#silence?.refresh()
    if (message.kind === 'strayError') this.#strayErrors.push(message.text)
    else if (message.kind === 'note') this.#current?.note(message.text)
    else if (message.kind === 'testEnd') this.#current?.take(message.end)
    else {
      if (message.exitCode) this.#current?.fail(`exit code ${message.exitCode}: an error belongs to no test`)
      this.#onFileEnd?.()
    }
  }

  #describeEnd(): string {
    const { exitCode, signalCode } = this.#child
    return `process ${signalCode ? `was ended by ${signalCode}` : `ended with exit code ${exitCode}`}`
  }
}
