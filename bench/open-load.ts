import { spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { LoadPlan, LoadResult } from './load.ts'

/** One process makes all the load: the start of another would be felt in the round after it. */
export function openLoad() {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'load.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    async run(plan: LoadPlan): Promise<LoadResult> {
      child.stdin.write(`${JSON.stringify(plan)}\n`)
      return JSON.parse((await answers.next()).value ?? 'null') as LoadResult
    },
    close: () => void child.kill(),
  }
}
