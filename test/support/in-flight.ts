import assert from 'node:assert/strict'
import type { Tx } from '../../src/db/database.ts'
import type { TestService } from './service.ts'
import { waitUntil } from './wait-until.ts'

/** Sends a request while a transaction is open, and commits it once the request waits for a lock of it. */
export async function askDuring<T>(
  { database }: TestService,
  work: (tx: Tx) => Promise<unknown>,
  ask: () => Promise<T>,
  meanwhile?: () => Promise<unknown>,
): Promise<T> {
  let asked: Promise<T> | undefined
  await database.transaction(async (tx) => {
    await work(tx)
    const [own] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    asked = ask()
    // Awaited below: until then a refusal is no unhandled one.
    asked.catch(() => {})
    await waitUntil('the transaction is waited for', async () => {
      const waiting = await database.sql`
        select from pg_stat_activity where ${own?.pid ?? 0} = any(pg_blocking_pids(pid))`
      return waiting.count > 0
    })
    await meanwhile?.()
  })
  return asked ?? assert.fail()
}
