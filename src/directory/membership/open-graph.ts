import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Database } from '../../db/database.ts'
import type { DatabaseAddress } from '../../db/database-url.ts'
import { SteadyConnection } from '../../db/steady-connection.ts'
import type { MembershipGraph } from './graph.ts'
import { LogFeed } from './memory/log-feed.ts'
import { type IndexSize, MemoryGraph, noIndex } from './memory/memory-graph.ts'
import { createMembershipMetrics } from './memory/metrics.ts'
import { createSqlGraph } from './sql-graph.ts'

export interface OpenedGraph {
  readonly graph: MembershipGraph
  /** A hint that the directory changed. */
  hear(): void
  /** Resolves when the index is in memory, or is not going to be. */
  settled(): Promise<void>
  /** The size of the index; zero while there is none. */
  size(): IndexSize
  close(): Promise<void>
}

interface GraphOptions {
  readonly database: Database
  readonly address: DatabaseAddress
  readonly tenantId: string
  /** The memory that the index may use; 0: SQL answers every question. */
  readonly memoryBytes: number
  readonly log: Logger
  readonly registry: Registry
}

export function openGraph({ address, memoryBytes, registry, ...options }: GraphOptions): OpenedGraph {
  const sql = createSqlGraph(options.database.sql)
  if (memoryBytes === 0)
    return { graph: sql, hear() {}, async settled() {}, size: () => noIndex, async close() {} }
  const connection = new SteadyConnection(address, 'masquerade memberships')
  const feed = new LogFeed(connection, options.tenantId)
  const metrics = createMembershipMetrics(registry)
  const graph = new MemoryGraph({ ...options, feed, sql, memoryBytes, metrics })
  return {
    graph,
    hear: () => graph.hear(),
    settled: () => graph.settled(),
    size: () => graph.size(),
    async close() {
      await graph.close()
      await connection.close()
    },
  }
}
