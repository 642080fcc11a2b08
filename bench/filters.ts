import type { Query } from '../src/db/query.ts'
import { user } from '../src/directory/objects/kinds/user.ts'
import { type Field, fieldsOf } from '../src/directory/odata/field.ts'
import { createTokens } from '../test/support/tokens.ts'
import { median } from './median.ts'
import { openService } from './open-service.ts'
import { loadWithoutIndexes } from './without-indexes.ts'

const large = Number(process.argv[2] ?? 1_000_000)
const small = 10_000
const rounds = Number(process.argv[3] ?? 15)
const special = 50
const chunk = 20_000

const texts = [
  'displayName',
  'givenName',
  'surname',
  'jobTitle',
  'department',
  'companyName',
  'city',
  'country',
  'employeeId',
  'onPremisesImmutableId',
  'mailNickname',
]

/** The properties that are texts, in one expression: an aggregate per row would take most of the time. */
function describeTexts(tx: Query) {
  const pairs = texts.map(
    (name) => `'${name}', case when n <= ${special} then 'Special ' || n else '${name} ' || n % 100 end`,
  )
  return tx.unsafe(`jsonb_build_object(${pairs.join(', ')})`)
}

/** Fifty users are special in every property; each value of the others is shared by a hundredth of them. */
async function fill(tx: Query, tenantId: string, count: number): Promise<void> {
  await loadWithoutIndexes(tx, () => insertUsers(tx, tenantId, count))
  await tx`
    insert into directory_object (tenant_id, id, kind, properties)
    values (${tenantId}, md5('group')::uuid, 'group', '{"displayName": "Special"}')`
  await tx`
    insert into member_edge (tenant_id, container_id, member_id)
    select ${tenantId}, md5('group')::uuid, md5('user' || n)::uuid from generate_series(1, ${special}::int) as n`
  await tx`analyze directory_object, member_edge`
  process.stderr.write('\n')
}

async function insertUsers(tx: Query, tenantId: string, count: number): Promise<void> {
  for (let first = 1; first <= count; first += chunk) {
    await tx`
      insert into directory_object (tenant_id, id, kind, properties, created_at)
      select ${tenantId}, md5('user' || n)::uuid, 'user',
        ${describeTexts(tx)}
        || case when n <= ${special}::int
          then jsonb_build_object('userPrincipalName', 'special' || n || '@special.example',
            'mail', 'special' || n || '@special.example', 'accountEnabled', false, 'userType', 'Guest',
            'otherMails', jsonb_build_array('special' || n || '@x.example'),
            'proxyAddresses', jsonb_build_array('SMTP:special' || n || '@x.example'))
          else jsonb_build_object('userPrincipalName', 'user' || n || '@example.com',
            'mail', 'user' || n || '@example.com', 'accountEnabled', true,
            'otherMails', jsonb_build_array('user' || n || '@x.example'),
            'proxyAddresses', jsonb_build_array('SMTP:user' || n || '@x.example')) end,
        now() - case when n <= ${special}::int then interval '1 minute' else interval '1 year' end
      from generate_series(${first}::int, ${Math.min(first + chunk - 1, count)}::int) as n`
    process.stderr.write(`\r${first + chunk - 1} of ${count} users `)
  }
}

async function open(count: number) {
  const service = await openService()
  const tokens = await createTokens(service)
  const token = tokens.tokenFor({ permissions: ['Directory.Read.All'] })
  await tokens.settled()
  const { sql } = service.database
  await service.database.transaction((tx) => fill(tx, service.store.tenantId, count))
  const [one] = await sql<{ id: string; group: string }[]>`
    select md5('user1')::uuid as id, md5('group')::uuid as group`
  return {
    ids: one ?? { id: '', group: '' },
    async time(query: string): Promise<number> {
      const startedAt = performance.now()
      const response = await fetch(`${service.listeners.httpOrigin}/v1.0/users?${query}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      const body = (await response.json()) as { value?: unknown[] }
      if (!body.value?.length) throw new Error(`${query}: ${response.status} ${JSON.stringify(body)}`)
      return performance.now() - startedAt
    },
    async close() {
      await service.close()
    },
  }
}

/** The queries that the index of a property serves. */
function queriesOf({ name, index, type }: Field, { id }: { readonly id: string }): string[] {
  if (name === 'id') return [`id eq '${id}'`].map(asFilter)
  if (name === 'accountEnabled') return ['accountEnabled eq false', 'accountEnabled eq true'].map(asFilter)
  if (index === 'elements') {
    const prefix = name === 'proxyAddresses' ? 'smtp:' : ''
    return [`${name}/any(x:x eq '${prefix}special7@x.example')`].map(asFilter)
  }
  const order = [`$orderby=${name}`, `$orderby=${name} desc`]
  if (type === 'dateTime') {
    const yesterday = new Date(Date.now() - 86_400_000).toISOString()
    return [...[`${name} ge ${yesterday}`, `${name} lt ${yesterday}`].map(asFilter), ...order]
  }
  if (name === 'userType')
    return [
      ...["userType eq 'Guest'", "userType eq 'Member'", "startswith(userType,'g')"].map(asFilter),
      ...order,
    ]
  const ends = index === 'suffix' ? ["'@special.example'", "'@example.com'"] : []
  const rare = index === 'suffix' ? 'special7@special.example' : 'Special 7'
  const common = index === 'suffix' ? `startswith(${name},'user')` : `${name} eq '${name} 7'`
  return [
    ...[
      `${name} eq '${rare}'`,
      `${name} in ('${rare}','nothing')`,
      `startswith(${name},'special')`,
      common,
      ...ends.map((end) => `endswith(${name},${end})`),
    ].map(asFilter),
    ...order,
  ]
}

function asFilter(filter: string): string {
  return `$filter=${encodeURIComponent(filter)}`
}

const places = [await open(small), await open(large)] as const
const [{ ids }] = places
const queries = [
  ...[...fieldsOf([user]).values()].flatMap((field) => (field.index ? queriesOf(field, ids) : [])),
  asFilter(`memberOf/any(g:g/id eq '${ids.group}')`),
  `$search=${encodeURIComponent('"displayName:special"')}`,
]
let worst = 0
for (const query of queries) {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++)
    for (const at of [0, 1] as const) times[at].push(await places[at].time(query))
  const [few, many] = [median(times[0]), median(times[1])]
  worst = Math.max(worst, many / few)
  console.log(
    `${(many / few).toFixed(2)}  ${many.toFixed(1)} to ${few.toFixed(1)} ms  ${decodeURIComponent(query)}`,
  )
}
console.log(`worst ratio of ${queries.length} queries, ${large} to ${small} users: ${worst.toFixed(2)}`)
for (const place of places) await place.close()
