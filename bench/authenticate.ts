// What the cache of verified tokens is worth: processor time to authenticate a caller with a new token each time, as a
// ratio to one token again and again. Both go through everything that a request goes through before its permission is
// checked, the look at the principal's standing in PostgreSQL included. Run: npm run bench bench/authenticate.ts
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pino from 'pino'
import { startService } from '../src/main.ts'
import { readSettings } from '../src/settings.ts'
import { createTokens } from '../test/support/tokens.ts'

const tokenCount = 4_000
const atOnce = 16
const rounds = 5

const dataDir = await mkdtemp(path.join(tmpdir(), 'masquerade-bench-'))
const settings = readSettings({
  MASQUERADE_DATA_DIR: dataDir,
  MASQUERADE_HTTP_PORT: '0',
  MASQUERADE_HTTPS_PORT: '0',
  MASQUERADE_GATEWAY_PORT: '0',
  MASQUERADE_DEMO: '0',
})
const service = await startService({ settings, log: pino({ level: 'silent' }) })
const tokens = await createTokens(service)
const { authenticate } = service.auth.gatekeeper

/** Microseconds of processor time for each. */
async function measure(sent: readonly string[]): Promise<number> {
  const queue = sent.values()
  const work = async () => {
    for (const token of queue) await authenticate(`Bearer ${token}`)
  }
  const start = process.cpuUsage()
  await Promise.all(Array.from({ length: atOnce }, work))
  const { user, system } = process.cpuUsage(start)
  return (user + system) / sent.length
}

const makeTokens = () =>
  Array.from({ length: tokenCount }, (_, n) =>
    tokens.signToken({ ...tokens.claimsFor({ permissions: ['User.Read.All'] }), n, at: Date.now() }),
  )
const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const once: number[] = []
const again: number[] = []
for (let round = 0; round < rounds; round++) {
  const made = makeTokens()
  once.push(await measure(made))
  again.push(await measure(Array.from({ length: tokenCount * 10 }, () => made[0] ?? '')))
}
const [fresh, cached] = [median(once), median(again)]
process.stdout.write(
  `${(fresh / cached).toFixed(1)}: ${fresh.toFixed(0)} to ${cached.toFixed(1)} µs of processor time\n`,
)
await service.stop()
await rm(dataDir, { recursive: true, force: true })
