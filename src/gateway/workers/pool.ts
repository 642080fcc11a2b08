import type { Socket } from 'node:net'
import type { RefusalName } from '../../wire/refusal.ts'
import type { GatewayLimits, GatewayPorts } from '../ports.ts'
import type { NodeRegistry } from '../session/session-registry.ts'
import type { SessionRunner } from '../session-runner.ts'
import { describeMissing } from './channel.ts'
import { startWorker, type Worker } from './start-worker.ts'

export interface PoolOptions {
  readonly count: number
  readonly limits: GatewayLimits
  readonly ports: GatewayPorts
  readonly registry: NodeRegistry
}

/** How long a worker may take to answer, and how long it is waited for until it knows of a change. */
const answerMs = 10_000
const firstDelayMs = 100
const maxDelayMs = 10_000
/** A worker that ran this long did not die of a failed start. */
const settledMs = 60_000
/** Connections on their way to a worker, beyond those that are logged in: a flood of them stops here. */
const maxUnderWay = 1_000
/** On top of what sessions are given to end. */
const closeGraceMs = 9_000

/** Runs sessions in worker processes. Each connection goes to the worker with the fewest. */
export async function openWorkers(options: PoolOptions): Promise<SessionRunner> {
  const pool = new Pool(options)
  await pool.start()
  return pool
}

class Pool implements SessionRunner {
  readonly #options: PoolOptions
  readonly #workers = new Set<Worker>()
  readonly #timers = new Set<NodeJS.Timeout>()
  /** Accepted while there is no worker. */
  #waiting: Socket[] = []
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    try {
      await Promise.all(Array.from({ length: this.#options.count }, () => this.#startOne(firstDelayMs)))
    } catch (error) {
      await this.close(0)
      throw error
    }
  }

  get processes(): readonly number[] {
    return [...this.#workers].map(({ pid }) => pid)
  }

  describeMissing(): string | null {
    return describeMissing(this.#options.count, [...this.#workers])
  }

  accept(socket: Socket): void {
    socket.on('error', () => {})
    const [first, ...others] = this.#workers
    const least = first && others.reduce((best, one) => (one.load < best.load ? one : best), first)
    const load = least ? least.load - this.#options.limits.connections : this.#waiting.length
    if (this.#isClosed || load >= maxUnderWay) socket.destroy()
    else if (least) least.accept(socket)
    else this.#waiting.push(socket)
  }

  async refresh(databaseId: string): Promise<void> {
    await this.#askAll('refresh', databaseId)
  }

  async refreshAll(): Promise<void> {
    await this.#askAll('refreshAll')
  }

  async end(ids: readonly string[], reason: RefusalName): Promise<void> {
    await this.#askAll('end', ids, reason)
  }

  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#timers) clearTimeout(timer)
    for (const socket of this.#waiting) socket.destroy()
    await Promise.all([...this.#workers].map((worker) => worker.close(timeoutMs, closeGraceMs)))
  }

  /**
   * Asks all workers. A worker that does not answer at all is replaced; one that died holds no masks. One that waits
   * for a database is left behind: its stale masks at worst make the database deny a statement.
   */
  async #askAll(name: string, ...args: unknown[]): Promise<void> {
    const { log } = this.#options.ports
    await Promise.all(
      [...this.#workers].map(async (worker) => {
        const stuck = setTimeout(() => {
          log.error({ pid: worker.pid }, 'a worker of the gateway does not answer and is replaced')
          worker.kill()
        }, answerMs)
        const asked = worker.ask(name, ...args).catch(() => {})
        await worker.ask('answer').catch(() => {})
        clearTimeout(stuck)
        await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, answerMs).unref())])
      }),
    )
  }

  async #startOne(delayMs: number): Promise<void> {
    const startedAt = Date.now()
    const worker = await startWorker(this.#options)
    this.#workers.add(worker)
    worker.ended.then(() => {
      this.#workers.delete(worker)
      if (this.#isClosed) return
      const isSettled = Date.now() - startedAt > settledMs
      this.#options.ports.log.error({ pid: worker.pid }, 'a worker of the gateway died and is replaced')
      this.#replace(isSettled ? firstDelayMs : delayMs)
    })
    if (this.#isClosed) return worker.kill()
    for (const socket of this.#waiting.splice(0)) this.accept(socket)
  }

  #replace(delayMs: number): void {
    const next = Math.min(delayMs * 2, maxDelayMs)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#startOne(next).catch((err) => {
        this.#options.ports.log.error({ err }, 'a worker of the gateway cannot be started')
        if (!this.#isClosed) this.#replace(next)
      })
    }, delayMs)
    this.#timers.add(timer)
  }
}
