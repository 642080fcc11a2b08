// Time of a document of rules until it is enforced, against the same rules one PUT at a time; of ten times as many tables;
// and of 10,000 rules, with the latency of another caller beside them. Run: npm run bench bench/apply.ts [tables] [sample of
// single PUTs]
import { startClusters } from '../test/support/cluster.ts'

const started = await startClusters(['embedded-18'])
process.env.MASQUERADE_TEST_CLUSTERS = JSON.stringify(started.clusters)
const { bindingOf, createMaskedDatabase } = await import('../test/support/masked-database.ts')
const { startTestService } = await import('../test/support/service.ts')

const [tables = 100, sample = 25] = process.argv.slice(2).map(Number)
const columns = ['email', 'phone', 'card', 'note', 'pay']
const moreColumns = [...columns, 'street', 'city', 'iban', 'birth', 'ssn']

const service = await startTestService({ MASQUERADE_AUDIT_SECONDS: '3600' })
const token = service.tokenFor({ role: 'Owner' })

async function put(path: string, body: unknown): Promise<void> {
  const url = `${path}?api-version=2014-04-01`
  const { status, headers, text } = await service.request('PUT', url, { token, body })
  const state = headers.get('x-masquerade-enforcement')
  if (status >= 300 || (path.includes('Policies') && state !== 'Enforced'))
    throw new Error(`${state} ${text}`)
}

function rulesOf(count: number, masked = columns) {
  return Array.from({ length: count }, (_, at) =>
    masked.map((columnName) => ({
      name: `t${at}-${columnName}`,
      schemaName: 'public',
      tableName: `t${at}`,
      columnName,
      maskingFunction: 'Default',
    })),
  ).flat()
}

/** A bound database with so many tables, each with a grant. */
async function openDatabase(name: string, count: number) {
  const target = await createMaskedDatabase()
  const reader = await target.createRole('reader')
  const create = Array.from({ length: count }, (_, at) => {
    const list = moreColumns.map((column) => `${column} text`).join(', ')
    return `create table public.t${at} (id int primary key, ${list}); grant select on public.t${at} to "${reader}"`
  })
  await target.database.sql.unsafe(create.join(';'))
  const path = `/subscriptions/b/resourceGroups/b/providers/Vendor.Sql/servers/b/databases/${name}`
  await put(path, { properties: { binding: bindingOf(target.url) } })
  return { target, policy: `${path}/dataMaskingPolicies/Default` }
}

async function time(run: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await run()
  return (performance.now() - start) / 1000
}

async function timeDocument(name: string, count: number, masked = columns): Promise<number> {
  const { target, policy } = await openDatabase(name, count)
  await using _ = target
  return await time(() => put(`${policy}/document`, { properties: { rules: rulesOf(count, masked) } }))
}

/** Latencies in milliseconds of one small request after another until `run` has ended, in order of size. */
async function listLatencies(run: () => Promise<unknown>): Promise<number[]> {
  const latencies: number[] = []
  let isOver = false
  const ended = run().finally(() => {
    isOver = true
  })
  while (!isOver) {
    const path = '/subscriptions/b/resourceGroups/b/providers/Vendor.Sql/servers/b/databases/small'
    const small = () => service.request('GET', `${path}?api-version=2014-04-01`, { token })
    latencies.push((await time(async () => void (await small()))) * 1000)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await ended
  return latencies.sort((a, b) => a - b)
}

/** The first and last PUTs of all: a PUT takes longer the more is there already, so the sample stands for all of them. */
async function timeSingle(count: number): Promise<number> {
  const { target, policy } = await openDatabase('single', count)
  await using _ = target
  const rules = rulesOf(count)
  const putRule = ({ name, ...properties }: (typeof rules)[number]) =>
    put(`${policy}/rules/${name}`, { properties })
  const first = await time(async () => {
    for (const rule of rules.slice(0, sample)) await putRule(rule)
  })
  await put(`${policy}/document`, { properties: { rules: rules.slice(0, -sample) } })
  const last = await time(async () => {
    for (const rule of rules.slice(-sample)) await putRule(rule)
  })
  return ((first + last) / (2 * sample)) * rules.length
}

try {
  const document = await timeDocument('small', tables)
  const single = await timeSingle(tables)
  const many = await timeDocument('many', tables * 10)
  const alone = await listLatencies(() => new Promise((resolve) => setTimeout(resolve, 2000)))
  let largest = 0
  const beside = await listLatencies(async () => {
    largest = await timeDocument('largest', tables * 10, moreColumns)
  })
  const rules = tables * columns.length
  const show = (seconds: number) => `${seconds.toFixed(2)} s`
  const percentile = (list: number[]) => (list[Math.floor(list.length * 0.99)] ?? 0).toFixed(0)
  console.log(
    `${rules} rules on ${tables} tables: document ${show(document)}, single PUTs ${show(single)}; ratio ${(single / document).toFixed(1)}`,
  )
  console.log(
    `${rules * 10} rules on ${tables * 10} tables: ${show(many)}; ratio to ${tables} tables ${(many / document).toFixed(1)}`,
  )
  console.log(
    `${tables * 10 * moreColumns.length} rules on ${tables * 10} tables: ${show(largest)}; beside it 99 % of small requests in ${percentile(beside)} ms (alone ${percentile(alone)}), the longest in ${beside.at(-1)?.toFixed(0)} ms; memory ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`,
  )
} finally {
  await service[Symbol.asyncDispose]()
  await started.stop()
}
process.exit(0)
