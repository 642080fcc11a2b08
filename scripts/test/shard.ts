// A shard: a process that runs test files one after another, as the runner names them, so that what they have in
// common is imported once. Each file is a suite: hooks that it declares outside of suites are run for it alone.
import { suite } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type ShardOrder, send } from './shard-messages.ts'

const [, , timeoutMs, namePattern] = process.argv

process.on('message', ({ file }: ShardOrder) => {
  if (file === undefined) process.disconnect()
  else void runFile(file)
})

async function runFile(file: string): Promise<void> {
  // With a pattern for the names of tests, the path must not match it.
  await suite(namePattern ? ' ' : file, { timeout: Number(timeoutMs) }, () => import(file))
  // The reporter gets its last results before the next turn of the event loop.
  await setImmediate()
  send({ kind: 'fileEnd', exitCode: process.exitCode === undefined ? undefined : Number(process.exitCode) })
  process.exitCode = undefined
}
