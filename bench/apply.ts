// Time of a document of rules until it is enforced, against the same rules one PUT at a time; and of ten times as many
// tables. Run: npm run bench bench/apply.ts [tables] [sample of single PUTs]
import { startClusters } from '../test/support/cluster.ts'

const started = await startClusters(['embedded-18'])
process.env.MASQUERADE_TEST_CLUSTERS = JSON.stringify(started.clusters)
const { bindingOf, createMaskedDatabase } = await import('../test/support/masked-database.ts')
const { startTestService } = await import('../test/support/service.ts')

const [tables = 100, sample = 25] = process.argv.slice(2).map(Number)
const columns = ['email', 'phone', 'card', 'note', 'pay']

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
    const list = columns.map((column) => `${column} text`).join(', ')
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
  // One rule a table: a body has at most 5,000 keys, which are 990 rules.
  const few = await timeDocument('few', tables, ['email'])
  const many = await timeDocument('many', Math.floor(tables * 9.9), ['email'])
  const rules = tables * columns.length
  console.log(
    `${rules} rules on ${tables} tables: document ${document.toFixed(2)} s, single PUTs ${single.toFixed(2)} s; ratio ${(single / document).toFixed(1)}`,
  )
  console.log(
    `one rule a table: ${tables} tables ${few.toFixed(2)} s, ${Math.floor(tables * 9.9)} tables ${many.toFixed(2)} s; ratio ${(many / few).toFixed(1)}`,
  )
} finally {
  await service[Symbol.asyncDispose]()
  await started.stop()
}
process.exit(0)
