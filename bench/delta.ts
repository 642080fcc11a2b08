import { createTokens } from '../test/support/tokens.ts'
import { openService } from './open-service.ts'

const users = Number(process.argv[2] ?? 100_000)
const rounds = Number(process.argv[3] ?? 5)

const service = await openService()
try {
  const { tenantId } = service.store
  const tokens = await createTokens(service)
  const headers = {
    authorization: `Bearer ${tokens.tokenFor({ kind: 'application', permissions: ['User.Read.All'] })}`,
  }
  await tokens.settled()
  await service.database.transaction(async (tx) => {
    await tx`set local statement_timeout = 0`
    await tx`
      insert into directory_object (tenant_id, id, kind, properties)
      select ${tenantId}, gen_random_uuid(), 'user', jsonb_build_object('displayName', 'User ' || n,
        'mailNickname', 'u' || n, 'userPrincipalName', 'u' || n || '@example.com', 'accountEnabled', true)
      from generate_series(1, ${users}::int) n`
  })
  await service.database.sql`analyze directory_object`

  async function* readPages(start: string): AsyncGenerator<number> {
    for (let next: string | undefined = `${service.listeners.httpOrigin}/v1.0${start}`; next; ) {
      const page = (await (await fetch(next, { headers })).json()) as {
        value: unknown[]
        '@odata.nextLink'?: string
      }
      yield page.value.length
      next = page['@odata.nextLink']
    }
  }
  /** Reads page by page in turns, so that whatever else the machine does slows both down. */
  async function race(): Promise<{ list: number; delta: number }> {
    const runners = { list: readPages('/users?$top=999'), delta: readPages('/users/delta?$top=999') }
    const ms = { list: 0, delta: 0 }
    const read = { list: 0, delta: 0 }
    for (let isOpen = true; isOpen; ) {
      isOpen = false
      for (const name of ['list', 'delta'] as const) {
        const start = performance.now()
        const { value, done } = await runners[name].next()
        if (done) continue
        isOpen = true
        ms[name] += performance.now() - start
        read[name] += value
      }
    }
    if (read.list !== read.delta || read.list < users) throw new Error(`${read.list} and ${read.delta} users`)
    const pages = Math.ceil(read.list / 999)
    return { list: pages / (ms.list / 1000), delta: pages / (ms.delta / 1000) }
  }
  const results: { list: number; delta: number }[] = []
  await race()
  for (let round = 0; round < rounds; round++) results.push(await race())
  const median = (values: readonly number[]) =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
  const list = median(results.map((one) => one.list))
  const delta = median(results.map((one) => one.delta))
  console.log(`list ${list.toFixed(1)} pages/s, delta ${delta.toFixed(1)} pages/s, ${users} users`)
  console.log(`delta to list: ${median(results.map((one) => one.delta / one.list)).toFixed(2)}`)
} finally {
  await service.close()
}
