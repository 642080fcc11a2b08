import { availableParallelism } from 'node:os'
import { needsOwnProcess, sortByDuration } from './plan.ts'
import { type ShardOptions, ShardProcess } from './shard-process.ts'
import type { Report } from './tally.ts'

export interface RunOptions extends ShardOptions {
  readonly print: (report: Report) => void
}

/**
 * Runs the files on shards that all draw from one queue. A file waits for half of its time, so there are two shards
 * more than cores. With many more, tests of time limits would fail.
 */
export async function runFiles(files: readonly string[], options: RunOptions): Promise<void> {
  const queue = sortByDuration(files).values()
  const shards = Math.min(availableParallelism() + 2, files.length)
  await Promise.all(Array.from({ length: shards }, () => work(queue, options)))
}

async function work(queue: Iterator<string> & Iterable<string>, options: RunOptions): Promise<void> {
  let shard: ShardProcess | undefined
  const end = async () => {
    const report = await shard?.end()
    shard = undefined
    if (report && !options.signal.aborted) options.print(report)
  }
  for (const file of queue) {
    if (options.signal.aborted) break
    if (needsOwnProcess(file)) await end()
    shard ??= new ShardProcess(options)
    const report = await shard.runFile(file)
    if (!options.signal.aborted) options.print(report)
    if (needsOwnProcess(file) || !shard.isUsable) await end()
  }
  await end()
}
