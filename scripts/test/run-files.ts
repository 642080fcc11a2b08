import { availableParallelism } from 'node:os'
import type { Cluster } from '../../test/support/cluster.ts'
import { needsOwnProcess, sortByDuration } from './plan.ts'
import { type ShardOptions, ShardProcess } from './shard-process.ts'
import type { Report } from './tally.ts'

export interface RunOptions extends ShardOptions {
  readonly print: (report: Report) => void
  /** Servers for each shard. */
  readonly clusters?: readonly Cluster[][]
}

/** A file waits for more than half of its time: three shards more than cores. */
export function countShards(files: readonly string[]): number {
  return Math.min(availableParallelism() + 3, files.length)
}

/** Runs the files on shards that all draw from one queue. */
export async function runFiles(files: readonly string[], options: RunOptions): Promise<void> {
  const queue = sortByDuration(files).values()
  await Promise.all(
    Array.from({ length: countShards(files) }, (_, at) => work(queue, options, options.clusters?.[at])),
  )
}

async function work(
  queue: Iterator<string> & Iterable<string>,
  options: RunOptions,
  clusters: readonly Cluster[] = [],
): Promise<void> {
  let shard: ShardProcess | undefined
  const end = async () => {
    const report = await shard?.end()
    shard = undefined
    if (report && !options.signal.aborted) options.print(report)
  }
  for (const file of queue) {
    if (options.signal.aborted) break
    if (needsOwnProcess(file)) await end()
    shard ??= new ShardProcess(options, clusters)
    const report = await shard.runFile(file)
    if (!options.signal.aborted) options.print(report)
    if (needsOwnProcess(file) || !shard.isUsable) await end()
  }
  await end()
}
