// A service with an embedded database and nothing else, for tests that kill it. Prints one line of JSON when it is up.
import { setImmediate } from 'node:timers/promises'
import { connectDatabase } from '../../src/db/connect.ts'
import { startEmbedded } from '../../src/db/embedded.ts'

const [dataDir = ''] = process.argv.slice(2)
try {
  const { address, pid } = await startEmbedded({ dataDir })
  const { sql } = await connectDatabase({ url: address })
  await sql`create table if not exists kept (n int)`
  await sql`insert into kept values (1)`
  // The lock against other processes must survive a garbage collection.
  globalThis.gc?.()
  await setImmediate()
  process.stdout.write(`${JSON.stringify({ pid })}\n`)
  setInterval(() => {}, 1000)
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : 'unknown')
  process.exitCode = 1
}
