// A process that serves HTTP for a node: a node of its own toward the store, without gateway, audits and reports.
import pino, { type Logger } from 'pino'
import { Channel, type Message } from './gateway/workers/channel.ts'
import type { NotReady } from './http/pages.ts'
import type { WorkerOpened, WorkerStart } from './http-workers.ts'
import { type Service, startService } from './main.ts'

let service: Service | undefined
let gatewayPort = 0

const channel = new Channel(
  {
    send: (message) => void process.send?.(message, undefined, {}, (error) => error && process.exit()),
    onMessage: (hear) => process.on('message', (message: Message) => hear(message, undefined)),
    onGone: (hear) => process.once('disconnect', hear),
  },
  (name, args) => run(name, args),
)

// A terminal sends its signals to all processes: the parent ends us when requests are over. Without it there is nothing to do.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.once('disconnect', () => process.exit())

/** The parent's gateway, as far as requests need it. */
const gateway: Service['gateway'] = {
  get port() {
    return gatewayPort
  },
  processes: [],
  describeMissing: () => null,
  refresh: async (databaseId) => void (await channel.ask('refresh', databaseId)),
  refreshAll: async () => {},
  cancel: async () => {},
  close: async () => {},
}

async function run(name: string, args: unknown[]): Promise<unknown> {
  switch (name) {
    case 'open':
      return await open(args[0] as WorkerStart)
    case 'gateway':
      gatewayPort = Number(args[0])
      return undefined
    case 'answer':
      return undefined
    case 'metrics':
      return await service?.registry.getMetricsAsJSON()
    case 'drain':
      return service?.drain()
    case 'close':
      return await service?.stop()
    default:
      throw new Error(`a process that serves HTTP cannot ${name}`)
  }
}

async function open({
  settings,
  nodeId,
  nodeCertificate,
  isEmbedded,
  portalFolder,
  logLevel,
}: WorkerStart): Promise<WorkerOpened> {
  const opened = await startService({
    settings,
    log: createLog(logLevel),
    ...(portalFolder !== undefined && { portalFolder }),
    part: {
      nodeId,
      nodeCertificate,
      isEmbedded,
      gateway,
      listNotReady: async () => (await channel.ask('readiness')) as NotReady[],
      metrics: async () => String(await channel.ask('metrics')),
      tellKeys: (keys) => channel.tell('keys', [keys]),
    },
  })
  service = opened
  const { close: _, ...listeners } = opened.listeners
  const { keyIds, sealsWith } = opened.auth.secretBox
  return { ...listeners, keys: { keyIds, sealsWith } }
}

/** Writes to the node's own log. */
function createLog(level: string): Logger {
  return pino(
    { level, base: null },
    {
      write(line: string) {
        const { level: number, time: _, msg, ...fields } = JSON.parse(line)
        channel.tell('log', [pino.levels.labels[number] ?? 'info', fields, msg ?? ''])
      },
    },
  )
}

channel.tell('ready', [])
