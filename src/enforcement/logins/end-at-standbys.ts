import type { Database } from '../../db/database.ts'
import { type AskedServer, readMark } from '../read-replay.ts'
import { joinReasons } from '../states/cap-notes.ts'
import { describeFault, endAtServer, endStraysAt } from './end-at-server.ts'
import { KnownServer } from './known-server.ts'
import type { LeftLogin, Logins, SettledLogins } from './logins.ts'

interface Parts {
  readonly logins: Pick<Logins, 'finishLeft'>
  /** The other servers that the binding lists, by host:port. */
  listOthers(databaseId: string, primary: Database): ReadonlyMap<string, AskedServer>
}

interface Options {
  /** Login roles whose sessions in other databases end as well. */
  readonly strays?: readonly { readonly oid: number }[]
  /** The state is not `Enforced` meanwhile. */
  readonly suspend?: (reason: string) => Promise<void>
}

export interface EndedAtStandbys {
  /** Where sessions of login roles that lost something may go on; empty: nowhere. */
  readonly pending: string
  readonly left: readonly LeftLogin[]
}

/**
 * Ends sessions of login roles that lost something at the other servers of a binding, and removes the marks of the roles when there
 * are none left.
 */
export function createStandbyEnding({ logins, listOthers }: Parts) {
  const known = new Map<string, ReadonlyMap<string, KnownServer>>()
  /** By host:port. Servers that the binding does not list any more are forgotten. */
  const recall = (databaseId: string, names: readonly string[]): ReadonlyMap<string, KnownServer> => {
    const before = known.get(databaseId)
    const servers = new Map(names.map((name) => [name, before?.get(name) ?? new KnownServer()]))
    known.set(databaseId, servers)
    return servers
  }
  return async (
    databaseId: string,
    primary: Database,
    { left }: Pick<SettledLogins, 'left'>,
    { strays = [], suspend }: Options = {},
  ): Promise<EndedAtStandbys> => {
    if (left.length === 0) known.delete(databaseId)
    if (left.length === 0 && strays.length === 0) return { pending: '', left }
    const others = [...listOthers(databaseId, primary)]
    if (others.length > 0 && strays.length > 0) {
      const mark = await readMark(primary)
      const oids = strays.map(({ oid }) => oid)
      await Promise.all(others.map(([, server]) => endStraysAt(server, mark, oids)))
    }
    if (left.length === 0) return { pending: '', left }
    await suspend?.('Sessions of login roles that lost rights are being ended at standbys.')
    const mark = await readMark(primary)
    const servers = recall(
      databaseId,
      others.map(([name]) => name),
    )
    const faults = await Promise.all(
      others.map(async ([name, server]) => {
        const fault = await endAtServer(server, mark, left, servers.get(name))
        return fault === undefined ? [] : [describeFault(name, fault)]
      }),
    )
    const pending = joinReasons(faults.flat())
    if (pending !== '') return { pending, left }
    await logins.finishLeft(primary, databaseId, left)
    return { pending, left: [] }
  }
}

export type EndAtStandbys = ReturnType<typeof createStandbyEnding>
