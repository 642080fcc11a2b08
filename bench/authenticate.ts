import { createTokens } from '../test/support/tokens.ts'
import { openService } from './open-service.ts'

const tokenCount = 4_000
const atOnce = 16
const rounds = 5

const service = await openService()
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
await service.close()
