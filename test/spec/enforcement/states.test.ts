import assert from 'node:assert/strict'
import { listStates } from '../../../src/masking/states/list-states.ts'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { policyUrl } from '../../support/masking.ts'
import { retryUntil } from '../../support/wait-until.ts'

const { masking, db, bound } = useBoundDatabase()

const readState = async () => {
  const [state] = await listStates(masking.service().database.sql)
  return state ?? assert.fail('the database is not listed')
}
const rules = [
  { name: 'mail', schemaName: 'public', tableName: 'person', columnName: 'email', maskingFunction: 'Email' },
]
const setPolicy = async (policy: object) => {
  const body = { properties: { policy, rules } }
  const { status, text } = await masking.send('PUT', `${policyUrl(db)}/document?api-version=2026-11-01`, body)
  assert.equal(status, 200, text)
}

clause(
  'ENF-132',
  '`masquerade status` tells of each bound database what is true of its masks: `Enforced`, `Observing`,…',
  async () => {
    const { sql } = bound().database
    const first = await readState()
    assert.deepEqual([first.state, first.reason], ['Enforced', null])
    await masking.service().database.sql`update enforcement_state set since = now() - interval '1 hour'`
    const hourAgo = (await readState()).since ?? ''

    await setPolicy({ dataMaskingState: 'Enabled', enforcementMode: 'Observe', exemptPrincipals: [] })
    const observing = await readState()
    assert.equal(observing.state, 'Observing')
    assert.ok((observing.since ?? '') > hourAgo, 'it was enforced an hour ago, not observed')
    await setPolicy({ dataMaskingState: 'Disabled', exemptPrincipals: [] })
    assert.equal((await readState()).state, 'Off')

    // Stored, and nothing has been done about it yet.
    await masking.service().database
      .sql`update masked_database set policy_state = 'Enabled', policy_mode = 'Enforce'`
    const changed = await readState()
    assert.ok((changed.since ?? '') > hourAgo)
    assert.deepEqual([changed.state, changed.reason], ['Pending', 'A change has not been enforced yet.'])

    // A superuser's session: the service ends none of those, however long the answers take.
    await bound().database.transaction(async (tx) => {
      await tx`lock table public.person in access exclusive mode`
      await setPolicy({ dataMaskingState: 'Enabled', enforcementMode: 'Enforce', exemptPrincipals: [] })
      const waiting = await readState()
      assert.equal(waiting.state, 'Pending', waiting.reason ?? '')
      assert.match(waiting.reason ?? '', /person" waits for a lock that .* holds\./)
      assert.ok((waiting.since ?? '') > hourAgo)
    })
    await retryUntil(async () => assert.equal((await readState()).state, 'Enforced'))

    await sql.unsafe('update masquerade_guard.policy set owner = gen_random_uuid()')
    await setPolicy({ dataMaskingState: 'Enabled', exemptPrincipals: ['nobody'] })
    const failed = await readState()
    assert.equal(failed.state, 'Failed')
    assert.match(
      failed.reason ?? '',
      /^This database is masked by a resource that this service does not have\./,
    )
    await sql.unsafe('update masquerade_guard.policy set owner = null')
    await setPolicy({ dataMaskingState: 'Enabled', exemptPrincipals: [] })
    assert.equal((await readState()).state, 'Enforced')
  },
)
