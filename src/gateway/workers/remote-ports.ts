import type { GatewayPorts } from '../ports.ts'
import type { SessionRegistry } from '../session/session-registry.ts'
import type { Channel } from './channel.ts'
import type { Tally } from './tally.ts'

/** The ports of a gateway as its worker has them: every call goes to the process that holds the store. */
export function createRemotePorts(channel: Channel, tally: Tally): GatewayPorts {
  const metrics = byName(
    (name) =>
      (...args: unknown[]) =>
        tally.add(`metrics.${name}`, args),
  )
  const log = byName(
    (name) =>
      (...args: unknown[]) =>
        channel.tell(`log.${name}`, args),
  )
  return byName((name) => {
    if (name === 'metrics') return metrics
    if (name === 'log') return log
    return (...args: unknown[]) => channel.ask(name, ...args)
  }) as unknown as GatewayPorts
}

export function createRemoteRegistry(channel: Channel): SessionRegistry {
  const ask = (name: keyof SessionRegistry, ...args: unknown[]) => channel.ask(`registry.${name}`, ...args)
  return {
    isFull: () => ask('isFull') as Promise<boolean>,
    admit: (session) => ask('admit', session) as ReturnType<SessionRegistry['admit']>,
    leave: (id, traffic) => channel.tell('registry.leave', [id, traffic]),
    find: (id) => ask('find', id) as ReturnType<SessionRegistry['find']>,
  }
}

type Called = (...args: unknown[]) => unknown

/** An object that has every method: new ports need nothing here. */
function byName(make: (name: string) => unknown): Record<string, Called> {
  const made = new Map<string, unknown>()
  return new Proxy(Object.create(null), {
    get(_target, name) {
      // `await` on the object itself asks for `then`.
      if (typeof name !== 'string' || name === 'then') return undefined
      const known = made.get(name) ?? make(name)
      made.set(name, known)
      return known
    },
  })
}
