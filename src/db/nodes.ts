import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Pulse } from './pulse.ts'
import type { Fragment, Query } from './query.ts'

const everyMs = 10_000
/** Three reports that did not come: the node was killed, or cannot reach the store. */
const silentSeconds = 30

export interface Node {
  readonly id: string
  readonly hostName: string
  readonly version: string
  readonly startedAt: Date
  readonly seenAt: Date
  readonly gatewaySessions: number
}

/** The secret keys that a node has, by their ids. */
export interface KnownKeys {
  readonly keyIds: readonly string[]
  readonly sealsWith: string
}

export interface NodeReporter {
  readonly id: string
  /** How many nodes run, this one included. */
  count(): number
  /** The nodes that run, this one with its present figures. */
  list(sql: Query): Promise<Node[]>
  /** Reports now. */
  report(): void
  close(): Promise<void>
}

/** Reports this node to the others every ten seconds. A store that does not answer costs a report, and nothing else. */
export function reportNode(
  sql: Query,
  pulse: Pulse,
  version: string,
  countSessions: () => Promise<number>,
  readKeys: () => KnownKeys,
  log: Logger,
): NodeReporter {
  const self = { id: randomUUID(), hostName: hostname(), version, startedAt: new Date() }
  const nodes = countNodes(sql, pulse)
  const write = async () => {
    const { id, hostName, startedAt } = self
    const keys = readKeys()
    await sql`
      with gone as (delete from node where seen_at < now() - interval '1 day' and id <> ${id})
      insert into node (id, host_name, version, started_at, gateway_sessions, secret_keys, seals_with)
      values (${id}, ${hostName}, ${version}, ${startedAt}, ${await countSessions()}, ${keys.keyIds},
        ${keys.sealsWith})
      on conflict (id) do update set seen_at = now(), gateway_sessions = excluded.gateway_sessions,
        secret_keys = excluded.secret_keys, seals_with = excluded.seals_with`
  }
  let writing: Promise<unknown> = Promise.resolve()
  const report = () => {
    writing = write().catch((err) => log.debug({ err }, 'this node could not report to the others'))
  }
  report()
  const timer = setInterval(report, everyMs).unref()
  return {
    id: self.id,
    report,
    count: nodes.count,

    async list(tx) {
      const others = (await listNodes(tx)).filter(({ id }) => id !== self.id)
      const own = { ...self, seenAt: new Date(), gatewaySessions: await countSessions() }
      return [...others, own].sort((a, b) => a.startedAt.getTime() - b.startedAt.getTime())
    },
    async close() {
      clearInterval(timer)
      nodes.close()
      await writing
      await sql`delete from node where id = ${self.id}`.catch((err) =>
        log.debug({ err }, 'the others hear of the end of this node by its silence'),
      )
    },
  }
}

/** The same for a process of a node that reports for it. */
export function followNodes(sql: Query, pulse: Pulse, id: string, report: () => void): NodeReporter {
  const nodes = countNodes(sql, pulse)
  return { id, report, count: nodes.count, list: listNodes, close: async () => nodes.close() }
}

function countNodes(sql: Query, pulse: Pulse) {
  let running = 1
  const close = pulse.ask(sql`(select count(*) from node where ${isRunning(sql)})`, (found: number) => {
    running = Math.max(1, found)
  })
  return { count: () => running, close }
}

const isRunning = (sql: Query): Fragment => sql`seen_at > now() - make_interval(secs => ${silentSeconds})`

async function listNodes(sql: Query): Promise<Node[]> {
  return await sql<Node[]>`
    select id, host_name as "hostName", version, started_at as "startedAt", seen_at as "seenAt",
      gateway_sessions as "gatewaySessions"
    from node where ${isRunning(sql)} order by started_at, id`
}

/** Of several processes: the keys that all of them have, and one that seals otherwise, if any does. */
export function joinKeys([first, ...others]: readonly [KnownKeys, ...KnownKeys[]]): KnownKeys {
  const other = others.find(({ sealsWith }) => sealsWith !== first.sealsWith)
  return {
    keyIds: first.keyIds.filter((id) => others.every(({ keyIds }) => keyIds.includes(id))),
    sealsWith: other?.sealsWith ?? first.sealsWith,
  }
}

/** The secret keys of the nodes that run, by their hosts. */
export async function listKnownKeys(sql: Query): Promise<(KnownKeys & { readonly hostName: string })[]> {
  return await sql<(KnownKeys & { hostName: string })[]>`
    select host_name as "hostName", secret_keys as "keyIds", seals_with as "sealsWith" from node
    where ${isRunning(sql)} order by host_name, id`
}
