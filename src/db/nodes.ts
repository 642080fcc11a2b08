import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Query } from './query.ts'

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

export interface NodeReporter {
  readonly id: string
  /** The nodes that run, this one with its present figures. */
  list(sql: Query): Promise<Node[]>
  close(): Promise<void>
}

/** Reports this node to the others every ten seconds. A store that does not answer costs a report, and nothing else. */
export function reportNode(
  sql: Query,
  version: string,
  countSessions: () => Promise<number>,
  log: Logger,
): NodeReporter {
  const self = { id: randomUUID(), hostName: hostname(), version, startedAt: new Date() }
  const write = async () => {
    const { id, hostName, startedAt } = self
    await sql`
      insert into node (id, host_name, version, started_at, gateway_sessions)
      values (${id}, ${hostName}, ${version}, ${startedAt}, ${await countSessions()})
      on conflict (id) do update set seen_at = now(), gateway_sessions = excluded.gateway_sessions`
    await sql`delete from node where seen_at < now() - interval '1 day'`
  }
  let writing: Promise<unknown> = Promise.resolve()
  const report = () => {
    writing = write().catch((err) => log.debug({ err }, 'this node could not report to the others'))
  }
  report()
  const timer = setInterval(report, everyMs).unref()
  return {
    id: self.id,

    async list(tx) {
      const others = await tx<Node[]>`
        select id, host_name as "hostName", version, started_at as "startedAt", seen_at as "seenAt",
          gateway_sessions as "gatewaySessions"
        from node where id <> ${self.id} and seen_at > now() - make_interval(secs => ${silentSeconds})
        order by started_at, id`
      const own = { ...self, seenAt: new Date(), gatewaySessions: await countSessions() }
      return [...others, own].sort((a, b) => a.startedAt.getTime() - b.startedAt.getTime())
    },
    async close() {
      clearInterval(timer)
      await writing
      await sql`delete from node where id = ${self.id}`.catch((err) =>
        log.debug({ err }, 'the others hear of the end of this node by its silence'),
      )
    },
  }
}
