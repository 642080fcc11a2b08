import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { extname, join } from 'node:path'
import type { GatewayLimits, GatewayPorts } from '../ports.ts'
import type { NodeRegistry } from '../session/session-registry.ts'
import { Channel, type Message } from './channel.ts'
import type { Counted } from './tally.ts'

export interface Worker {
  readonly pid: number
  /** Connections that it has. */
  readonly load: number
  readonly isSilent: boolean
  /** Resolves when the process is gone. */
  readonly ended: Promise<void>
  accept(socket: Socket): void
  ask(name: string, ...args: unknown[]): Promise<unknown>
  close(timeoutMs: number, graceMs: number): Promise<void>
  kill(): void
}

export interface StartOptions {
  readonly count: number
  readonly limits: GatewayLimits
  readonly ports: GatewayPorts
  readonly registry: NodeRegistry
}

/** Environment variables that a worker needs to run. It gets no others: it has no use for keys and passwords. */
const kept = [
  'PATH',
  'HOME',
  'TZ',
  'LANG',
  'LC_ALL',
  'TMPDIR',
  'SYSTEMROOT',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
]

/** Arguments of Node that are for every process: no debugger, profiler or test runner. */
export const passedOn = /^--(max-|stack-size|no-warnings|disable-warning|enable-source-maps)/

/** Resolves when the process is ready for connections. */
export async function startWorker({ count, limits, ports, registry }: StartOptions): Promise<Worker> {
  const child = fork(join(import.meta.dirname, `worker${extname(import.meta.filename)}`), {
    env: Object.fromEntries(kept.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : []))),
    execArgv: process.execArgv.filter((argument) => passedOn.test(argument)),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  let load = 0
  /** Keys of its sessions, to be counted out if it dies. */
  const own = new Set<string>()
  const callees: Readonly<Record<string, object>> = { metrics: ports.metrics, log: ports.log, registry }
  const call = (name: string, args: unknown[]): unknown => {
    const [group, method] = name.includes('.') ? name.split('.', 2) : [undefined, name]
    const callee = group === undefined ? ports : callees[group]
    const found: unknown = callee && Reflect.get(callee, method ?? '')
    if (!callee || typeof found !== 'function') throw new Error(`a gateway cannot ${name}`)
    return Reflect.apply(found, callee, args)
  }
  const channel = new Channel(
    {
      send: (message, socket) => {
        // A worker that is gone is noticed by its exit.
        if (child.connected) child.send(message, socket, {}, () => {})
      },
      onMessage: (hear) =>
        child.on('message', (message, socket) => hear(message as Message, socket as Socket | undefined)),
      onGone: (hear) => child.once('disconnect', hear),
    },
    async (name, args) => {
      switch (name) {
        case 'closed':
          load--
          return
        case 'tally':
          for (const [each, values, times] of args[0] as Counted[])
            for (let time = 0; time < times; time++) call(each, values)
          return
        case 'registry.admit': {
          const [{ id }] = args as Parameters<NodeRegistry['admit']>
          const admission = await call(name, args)
          if (admission === 'admitted') own.add(id)
          return admission
        }
        case 'registry.leave':
          own.delete(String(args[0]))
          return call(name, args)
        default:
          return call(name, args)
      }
    },
  )
  child.on('error', (err) => ports.log.error({ err }, 'a worker of the gateway failed'))
  const ended = once(child, 'exit').then(() => {
    for (const id of own) registry.leave(id, { received: 0, sent: 0 })
    own.clear()
  })
  const kill = () => void child.kill('SIGKILL')
  try {
    await channel.ask('open', limits, count)
  } catch (error) {
    kill()
    throw error
  }
  channel.watch()
  return {
    pid: child.pid ?? 0,
    get load() {
      return load
    },
    get isSilent() {
      return channel.isSilent
    },
    ended,
    accept(socket) {
      load++
      channel.tell('accept', [], socket)
    },
    ask: (name, ...args) => channel.ask(name, ...args),
    async close(timeoutMs, graceMs) {
      const late = setTimeout(kill, timeoutMs + graceMs)
      await channel.ask('close', timeoutMs).catch(() => {})
      if (child.connected) child.disconnect()
      await ended
      clearTimeout(late)
    },
    kill,
  }
}
