import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { extname, join } from 'node:path'
import type { Logger } from 'pino'
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'
import type { EmbeddedPostgres } from './db/embedded.ts'
import type { KnownKeys } from './db/nodes.ts'
import { Channel, describeMissing, type Message } from './gateway/workers/channel.ts'
import { passedOn } from './gateway/workers/start-worker.ts'
import type { Listeners } from './http/listen.ts'
import type { NotReady } from './http/pages.ts'
import type { NodeCertificate } from './kernel/node-name.ts'
import type { StartOptions } from './service.ts'
import type { Settings } from './settings.ts'

/** The facts that a process needs to serve requests of a node. */
export interface WorkerStart {
  readonly settings: Settings
  readonly nodeId: string
  readonly nodeCertificate: NodeCertificate
  readonly isEmbedded: boolean
  readonly portalFolder: string | undefined
  readonly logLevel: string
}

/** A worker's answer when it serves. */
export interface WorkerOpened extends Omit<Listeners, 'close'> {
  readonly keys: KnownKeys
}

export interface HttpWorkers extends Listeners {
  /** Ids of the processes that serve requests. */
  readonly processes: readonly number[]
}

interface PoolOptions {
  readonly start: WorkerStart
  readonly registry: Registry
  readonly log: Logger
  /** Resolves when the sessions of the gateway know of the change. */
  refresh(databaseId: string): Promise<void>
  /** A worker knows other secret keys than before. */
  onKeys(): void
  /** The parts of the node that are not ready. */
  listNotReady(): Promise<readonly NotReady[]>
}

interface Running {
  readonly channel: Channel
  readonly worker: Worker
  readonly ended: Promise<unknown>
  keys: KnownKeys | undefined
}

export function describeStart(
  { settings, portalFolder, log }: StartOptions,
  {
    server,
    ...node
  }: Pick<WorkerStart, 'nodeId' | 'nodeCertificate'> & { readonly server: EmbeddedPostgres | undefined },
): WorkerStart {
  return {
    settings: {
      ...settings,
      databaseUrl: server ? `${server.url}?require_auth=scram-sha-256` : settings.databaseUrl,
    },
    ...node,
    isEmbedded: server !== undefined,
    portalFolder,
    logLevel: log.level,
  }
}

const firstDelayMs = 100
const maxDelayMs = 10_000
/** On top of what requests are given to end. */
const closeGraceMs = 6_000

/** Serves HTTP in processes of their own, which share its ports. Each has its own connections to the store, as a node has. */
export class HttpPool {
  readonly #options: PoolOptions
  readonly #running = new Set<Running>()
  #gatewayPort = 0
  #isDraining = false
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** The first process makes what is missing, such as a certificate. Rejects when it cannot serve. */
  async open(): Promise<HttpWorkers> {
    const { host, httpPort, httpsPort, httpOrigin, ca } = await this.#start(firstDelayMs)
    try {
      await Promise.all(
        Array.from({ length: this.#options.start.settings.httpWorkers - 1 }, () => this.#start(firstDelayMs)),
      )
    } catch (error) {
      await this.#close(0)
      throw error
    }
    const running = this.#running
    return {
      host,
      httpPort,
      httpsPort,
      httpOrigin,
      ca,
      get processes() {
        return [...running].map(({ worker }) => worker.process.pid ?? 0)
      },
      close: (timeoutMs) => this.#close(timeoutMs),
    }
  }

  /** The keys that each process knows, for the report of the node. */
  get keys(): readonly KnownKeys[] {
    return [...this.#running].flatMap(({ keys }) => keys ?? [])
  }

  describeMissing(): string | null {
    const running = [...this.#running].map(({ worker, channel: { isSilent } }) => ({
      pid: worker.process.pid ?? 0,
      isSilent,
    }))
    return describeMissing(this.#options.start.settings.httpWorkers, running)
  }

  /** 0: the gateway takes no connections. */
  setGatewayPort(port: number): void {
    this.#gatewayPort = port
    for (const { channel } of this.#running) channel.tell('gateway', [port])
  }

  /** Before the close. */
  drain(): void {
    this.#isDraining = true
    for (const { channel } of this.#running) channel.tell('drain', [])
  }

  async #start(delayMs: number): Promise<WorkerOpened> {
    const { start, log } = this.#options
    cluster.setupPrimary({
      exec: join(import.meta.dirname, `http-worker${extname(import.meta.filename)}`),
      args: [],
      execArgv: process.execArgv.filter((argument) => passedOn.test(argument)),
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const worker = cluster.fork()
    const ended = once(worker, 'exit')
    const ready = Promise.withResolvers<void>()
    const channel = this.#connect(worker, () => ready.resolve())
    const running: Running = { worker, ended, channel, keys: undefined }
    try {
      // A message that is sent before the process listens is lost.
      await Promise.race([ready.promise, ended.then(() => Promise.reject(new Error('the process ended')))])
      const opened = (await running.channel.ask('open', start)) as WorkerOpened
      running.keys = opened.keys
      this.#running.add(running)
      channel.watch()
      running.channel.tell('gateway', [this.#gatewayPort])
      if (this.#isDraining) running.channel.tell('drain', [])
      void ended.then(() => {
        this.#running.delete(running)
        if (this.#isClosed) return
        log.error({ pid: worker.process.pid }, 'a process that serves HTTP died and is replaced')
        this.#replace(delayMs)
      })
      return opened
    } catch (error) {
      worker.process.kill('SIGKILL')
      throw error
    }
  }

  #replace(delayMs: number): void {
    const next = Math.min(delayMs * 2, maxDelayMs)
    setTimeout(() => {
      if (this.#isClosed) return
      this.#start(next).catch((err) => {
        this.#options.log.error({ err }, 'a process that serves HTTP cannot be started')
        this.#replace(next)
      })
    }, delayMs).unref()
  }

  #connect(worker: Worker, onReady: () => void): Channel {
    return new Channel(
      {
        send: (message) => {
          if (worker.isConnected()) worker.process.send?.(message, undefined, {}, () => {})
        },
        onMessage: (hear) => worker.on('message', (message: Message) => hear(message, undefined)),
        onGone: (hear) => worker.once('disconnect', hear),
      },
      (name, args) => (name === 'ready' ? onReady() : this.#answer(worker, name, args)),
    )
  }

  async #answer(worker: Worker, name: string, args: unknown[]): Promise<unknown> {
    switch (name) {
      case 'refresh':
        return await this.#options.refresh(String(args[0]))
      case 'readiness':
        return await this.#options.listNotReady()
      case 'metrics':
        return await this.#sumMetrics()
      case 'keys': {
        const [known] = args as [KnownKeys]
        for (const one of this.#running) if (one.worker === worker) one.keys = known
        return this.#options.onKeys()
      }
      case 'log': {
        const [level, fields, text] = args as ['info', object, string]
        return this.#options.log[level]({ ...fields, worker: worker.process.pid }, text)
      }
      default:
        throw new Error(`a node cannot ${name}`)
    }
  }

  /** One page for the node: counters and histograms of all its processes are added up. */
  async #sumMetrics(): Promise<string> {
    const others = [...this.#running].map(({ channel }) => channel.ask('metrics').catch(() => []))
    const all = await Promise.all([this.#options.registry.getMetricsAsJSON(), ...others])
    const sum = AggregatorRegistry.aggregate(all as MetricObjectWithValues<MetricValue<string>>[][])
    return await sum.metrics()
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#isClosed = true
    await Promise.all(
      [...this.#running].map(async ({ channel, worker, ended }) => {
        const late = setTimeout(() => worker.process.kill('SIGKILL'), timeoutMs + closeGraceMs)
        await channel.ask('close').catch(() => {})
        if (worker.isConnected()) worker.disconnect()
        await ended
        clearTimeout(late)
      }),
    )
  }
}
