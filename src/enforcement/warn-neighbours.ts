import type { Logger } from 'pino'
import type { Connections } from './connections.ts'
import type { EndAtStandbys } from './logins/end-at-standbys.ts'
import type { Logins } from './logins/logins.ts'
import type { HeldRole } from './policy.ts'

interface Options {
  readonly connections: Connections
  readonly logins: Logins
  readonly log: Logger
  readonly endAtStandbys: EndAtStandbys
  audit(databaseId: string): void
}

/** A writer of a neighbour chooses its server, which may hang: the answer to a change waits no longer than this. */
const limitMs = 2_000

/**
 * Login roles of other databases of the server lose a role before it becomes exempt here. Asks all of them at once, outside of turns.
 * Resolves when they have answered, or after `limitMs`; what they answer is not relied on (`holdExempt`).
 */
export function createNeighbourWarning({ connections, logins, log, audit, endAtStandbys }: Options) {
  const asked = new Map<string, Promise<void>>()
  const ask = async (id: string): Promise<void> => {
    try {
      const neighbour = await connections.openFit(id)
      const settled = neighbour && (await logins.settle(neighbour, id))
      if (!settled) return
      // Two databases that wait for each other would have themselves audited without a pause.
      if (settled.changed > 0) audit(id)
      await endAtStandbys(id, neighbour, settled)
    } catch (err) {
      log.warn({ databaseId: id, err }, 'login roles could not be kept from a role that is exempt elsewhere')
    }
  }
  /** One that hangs is not asked again meanwhile: each question holds a connection. */
  const askOnce = (id: string): Promise<void> => {
    const running = asked.get(id) ?? ask(id).finally(() => asked.delete(id))
    asked.set(id, running)
    return running
  }
  return async (held: readonly HeldRole[]): Promise<void> => {
    const answers = [...new Set(held.flatMap(({ neighbours }) => neighbours))].map(askOnce)
    if (answers.length === 0) return
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, limitMs)
    await Promise.race([Promise.all(answers), late])
    clearTimeout(timer)
  }
}
