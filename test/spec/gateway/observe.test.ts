import assert from 'node:assert/strict'
import { writeRunFile } from '../../../src/cli/run-file.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { policyUrl } from '../../support/masking.ts'
import { runHere } from '../../support/run-here.ts'
import { waitUntil } from '../../support/wait-until.ts'

const gateway = useGateway()
const { masking, db, masked } = gateway
const { send, service, getPolicy, putPolicy } = masking
const documentUrl = `${policyUrl(db)}/document?api-version=2026-11-01`
const place = db
  .split('/')
  .filter((_, at) => [2, 4, 8, 10].includes(at))
  .join('/')

async function setMode(enforcementMode?: string) {
  const { properties } = (await send('GET', documentUrl)).body
  const policy = { ...properties.policy, dataMaskingState: 'Enabled', enforcementMode }
  return send('PUT', documentUrl, { properties: { ...properties, policy } })
}

async function run(...args: string[]) {
  const token = service().tokenFor({ role: 'Owner' })
  await service().tokens.settled()
  return runHere([...args, '-d', place, '--url', service().origin, '--token', token], {
    environment: { XDG_CONFIG_HOME: '/nonexistent' },
  })
}

clause(
  'MASK-143',
  '`policy.enforcementMode` of a document is `Enforce` or `Observe`; left out, it stays as it is. A policy that is observed revokes nothing and removes masks that are there; its state is `Observing`. The policy of `2014-04-01` has no such property, and a PUT of it leaves the mode.',
  async () => {
    const analyst = masked().connectAs('analyst')
    const raw = () => analyst.sql`select email from public.customers limit 1`
    await assert.rejects(async () => raw(), /permission denied/)
    const observed = await setMode('Observe')
    assert.equal(observed.status, 200, observed.text)
    assert.equal(observed.body.properties.policy.enforcementMode, 'Observe')
    assert.equal(observed.headers.get('x-masquerade-enforcement'), 'Observing')
    assert.equal((await raw()).length, 1)
    const { state, since } = (await send('GET', `${policyUrl(db)}/enforcement`)).body
    assert.equal(state, 'Observing')
    assert.match(since, /^\d{4}-/)
    const policy = (await getPolicy(db)).body.properties
    assert.deepEqual(Object.keys(policy).sort(), [
      'applicationPrincipals',
      'dataMaskingState',
      'exemptPrincipals',
      'maskingLevel',
    ])
    const { exemptPrincipals } = policy
    const put = await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals })
    assert.equal(put.headers.get('x-masquerade-enforcement'), 'Observing')
    assert.equal((await setMode(undefined)).body.properties.policy.enforcementMode, 'Observe')
    assert.equal((await setMode('Enforce')).headers.get('x-masquerade-enforcement'), 'Enforced')
    await assert.rejects(async () => raw(), /permission denied/)
  },
)

clause(
  'MASK-144',
  'While a policy is observed, the audit of the gateway lists columns that a role read and would have seen masked as `wouldMask`. `GET {db}/dataMaskingPolicies/Default/report` sums them up by role and column since a time, and lists the roles that could not read raw values any more, with their live sessions; `masquerade policy observe` and `policy report` do the same. Exempt roles are not listed.',
  async () => {
    const asked = await run('policy', 'observe')
    assert.equal(asked.code, 0, asked.stderr)
    assert.match(asked.stdout, /The policy is Enabled, and observed only/)
    const [analyst, auditor] = [await gateway.connect('analyst'), await gateway.connect('auditor')]
    for (const client of [analyst, auditor]) {
      const { rows } = await client.query('select email from public.customers limit 1')
      assert.doesNotMatch(rows[0].email, /XXXX/)
    }
    const readReport = async () => (await send('GET', `${policyUrl(db)}/report?api-version=2026-11-01`)).body
    await waitUntil('the audit has the statement', async () => (await readReport()).gateway.length > 0)
    const report = await readReport()
    assert.deepEqual(
      report.gateway.map(({ role, column, statements }: Record<string, unknown>) => [
        role,
        column,
        statements,
      ]),
      [[masked().role('analyst'), 'public.customers.email', 1]],
    )
    const [first] = report.roles
    assert.equal(first.role, masked().role('analyst'))
    assert.ok(first.sessions.length > 0)
    assert.ok(!report.roles.some(({ role }: { role: string }) => role === masked().role('auditor')))
    const { value } = (await send('GET', `${db}/auditEvents?api-version=2014-04-01&$top=1000`)).body
    assert.match(JSON.stringify(value), /"wouldMask":\["public\.customers\.email"\]/)
    const said = await run('policy', 'report')
    assert.match(
      said.stdout,
      new RegExp(`${masked().role('analyst')} +public\\.customers\\.email +1 statement `),
    )
    const later = await send('GET', `${policyUrl(db)}/report?api-version=2026-11-01&since=2100-01-01`)
    assert.deepEqual(later.body.gateway, [])
    assert.equal((await send('GET', `${policyUrl(db)}/report?api-version=2026-11-01&since=soon`)).status, 400)
  },
)

clause(
  'MASK-145',
  '`masquerade status` says of each bound database its state (MASK-260), since when, and for what reason it is not `Enforced`.',
  async () => {
    const { dataDir, databaseUrl } = service()
    await writeRunFile(dataDir, service())
    const readState = async () => {
      const environment = { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: databaseUrl }
      const { stdout } = await runHere(['status', '--json'], { environment })
      const { databases } = JSON.parse(stdout)
      assert.equal(databases[0].id, db)
      assert.match(databases[0].since, /^\d{4}-/)
      return databases[0].state
    }
    assert.equal(await readState(), 'Observing')
    await setMode('Enforce')
    assert.equal(await readState(), 'Enforced')
    await putPolicy(db, { dataMaskingState: 'Disabled' })
    assert.equal(await readState(), 'Off')
  },
)
