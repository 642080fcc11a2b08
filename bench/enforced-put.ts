// Time from the PUT of a rule to its mask: a rule of a bound database, answered when the mask is in place, against the
// same PUT on a database that nobody bound, in turns. Run: npx node bench/enforced-put.ts
import { createMaskedDatabase } from '../test/support/masked-database.ts'
import { startTestService } from '../test/support/service.ts'
import { median } from './median.ts'

const rounds = 40

const target = await createMaskedDatabase()
const service = await startTestService()
try {
  await target.database.sql.unsafe(
    'create table public.person (id int, email text); grant select on public.person to public',
  )
  const token = service.tokenFor({ role: 'Owner' })
  const place = (name: string) =>
    `/subscriptions/bench/resourceGroups/bench/providers/Vendor.Sql/servers/bench/databases/${name}`
  const put = async (path: string, body: unknown) => {
    const url = `${path}?api-version=2014-04-01`
    const { status, headers, text } = await service.request('PUT', url, { token, body })
    if (status >= 300) throw new Error(text)
    return headers.get('x-masquerade-enforcement')
  }
  const { hostname, port, username, password, pathname } = new URL(target.url)
  const binding = {
    host: hostname,
    port: Number(port),
    database: pathname.slice(1),
    user: username,
    password: decodeURIComponent(password),
  }
  await put(place('bound'), { properties: { binding } })

  const putRule = async (database: string, round: number) => {
    const maskingFunction = round % 2 === 0 ? 'Email' : 'Default'
    const properties = { schemaName: 'public', tableName: 'person', columnName: 'email', maskingFunction }
    const start = performance.now()
    const state = await put(`${place(database)}/dataMaskingPolicies/Default/rules/mail`, { properties })
    if (database === 'bound' && state !== 'Enforced') throw new Error(`the mask is ${state}`)
    return performance.now() - start
  }
  const times: Record<string, number[]> = { bound: [], free: [] }
  for (let round = 0; round < rounds; round++)
    for (const database of ['bound', 'free']) times[database]?.push(await putRule(database, round))
  const [bound, free] = [median(times.bound ?? []), median(times.free ?? [])]
  console.log(
    `from PUT to enforced: ${bound.toFixed(1)} ms; the same PUT on an unbound database: ${free.toFixed(1)} ms; ratio ${(bound / free).toFixed(1)}`,
  )
} finally {
  await service[Symbol.asyncDispose]()
  await target[Symbol.asyncDispose]()
}
process.exit(0)
