import { createTokens } from '../test/support/tokens.ts'
import { median } from './median.ts'
import { openService } from './open-service.ts'

const ruleCount = 1_000
const groupSize = 100
const warmUp = 200
const lists = 21

const service = await openService()

try {
  const tokens = await createTokens(service)
  const token = tokens.tokenFor({ role: 'Owner' })
  await tokens.settled()
  const server = `http://127.0.0.1:${service.listeners.httpPort}/subscriptions/s/resourceGroups/g/providers/Vendor.Sql/servers/v`
  const rulesOf = (database: string) => `${server}/databases/${database}/dataMaskingPolicies/Default/rules`

  async function send(method: string, url: string, expected: number, body?: unknown): Promise<number> {
    const started = performance.now()
    const response = await fetch(`${url}?api-version=2014-04-01`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    await response.text()
    if (response.status !== expected) throw new Error(`${method} ${url}: ${response.status}`)
    return performance.now() - started
  }
  const put = (database: string, at: number) =>
    send('PUT', `${rulesOf(database)}/rule${at}`, 201, {
      properties: { schemaName: 'public', tableName: `t${at}`, columnName: 'c', maskingFunction: 'Email' },
    })

  for (let at = 0; at < warmUp; at++) await put('warm-up', at)
  const groups: { ours: number; other: number }[] = []
  for (let first = 0; first < ruleCount; first += groupSize) {
    const [ours, other]: [number[], number[]] = [[], []]
    for (let at = first; at < first + groupSize; at++) {
      ours.push(await put('full', at))
      other.push(await put(`empty${at}`, at))
    }
    groups.push({ ours: median(ours), other: median(other) })
  }
  for (const [at, { ours, other }] of groups.entries())
    console.log(
      `rules ${at * groupSize + 1} to ${(at + 1) * groupSize}: ${ours.toFixed(2)} ms (first rule of a database: ${other.toFixed(2)} ms)`,
    )
  const listing: number[] = []
  for (let at = 0; at < lists; at++) listing.push(await send('GET', rulesOf('full'), 200))
  const [first, last] = [groups[0], groups.at(-1)]
  if (!first || !last) throw new Error('nothing was measured')
  console.log(`list of ${ruleCount} rules: median ${median(listing).toFixed(1)} ms`)
  const ratio = last.ours / last.other / (first.ours / first.other)
  console.log(`ratio of the last ${groupSize} PUTs to the first ${groupSize}: ${ratio.toFixed(2)}`)
} finally {
  await service.close()
}
