// A process that runs sessions of a gateway: connections are handed to it, and it asks its parent for all that it has to know.
import type { Socket } from 'node:net'
import type { RefusalName } from '../../wire/refusal.ts'
import type { GatewayLimits } from '../ports.ts'
import { openSessionRunner, type SessionRunner } from '../session-runner.ts'
import { Channel, type Message } from './channel.ts'
import { createRemotePorts, createRemoteRegistry } from './remote-ports.ts'
import { type Counted, Tally } from './tally.ts'

const tellEveryMs = 200

let opened: SessionRunner | undefined

const channel = new Channel(
  {
    // Without the parent process, the worker has no one to report to and must end.
    send: (message) => void process.send?.(message, undefined, {}, (error) => error && process.exit()),
    onMessage: (hear) =>
      process.on('message', (message: Message, socket) => hear(message, socket as Socket | undefined)),
    onGone: (hear) => process.once('disconnect', hear),
  },
  (name, args, socket) => run(name, args, socket),
)
const tally = new Tally((calls: readonly Counted[]) => channel.tell('tally', [calls]), tellEveryMs)

// A terminal sends its signals to all processes: the parent ends us when sessions are over. Without it there is nothing to do.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.once('disconnect', () => process.exit())

async function run(name: string, args: unknown[], socket: Socket | undefined): Promise<void> {
  switch (name) {
    case 'open': {
      const [limits, processes] = args as [GatewayLimits, number]
      opened = await openSessionRunner({
        limits,
        ports: createRemotePorts(channel, tally),
        registry: createRemoteRegistry(channel),
        processes,
      })
      break
    }
    case 'accept':
      // It may be closed before it arrives.
      if (!socket) channel.tell('closed', [])
      else {
        socket.once('close', () => channel.tell('closed', []))
        opened?.accept(socket)
      }
      break
    case 'answer':
      break
    case 'refresh':
      await opened?.refresh(String(args[0]))
      break
    case 'refreshAll':
      await opened?.refreshAll()
      break
    case 'end':
      await opened?.end(args[0] as string[], args[1] as RefusalName)
      break
    case 'close':
      await opened?.close(Number(args[0]))
      tally.close()
      break
    default:
      throw new Error(`a worker cannot ${name}`)
  }
}
