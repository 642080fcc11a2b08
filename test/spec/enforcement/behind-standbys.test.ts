import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { useBoundPair } from '../../support/bound-pair.ts'
import { clause } from '../../support/clause.ts'
import { apiVersion, policyUrl, ruleUrl } from '../../support/masking.ts'
import { startOtherNode } from '../../support/other-node.ts'
import type { TestService } from '../../support/service.ts'
import { whilePaused } from '../../support/standby.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

const schema = `
  create table public.customers (id int primary key, name text, email text, city text, phone text);
  insert into public.customers values (1, 'ann', 'ann@example.com', 'Ghent', '555');
  create role behind_analyst login password 'secret';
  grant usage on schema public to public; grant select on public.customers to behind_analyst`

const behind = /The standby 127\.0\.0\.1:\d+ has not replayed/

describe('standbys that are behind', () => {
  const { masking, db, pair, hosts, bind, connectDirectly, untilEnforced } = useBoundPair({
    schema,
    first: 'primary',
  })
  let primary: Database
  let standby: Database
  let other: TestService
  before(async () => {
    primary = pair().open(pair().primary, 'people')
    standby = pair().open(pair().standby, 'people')
    const binding = { host: hosts(), password: pair().password, readOnlySessions: 'Standby' }
    const bound = await bind(binding, 'api-version=2026-11-01')
    assert.equal(bound.status, 201, bound.text)
    await mask('email')
    await untilEnforced()
    other = await startOtherNode(masking.service(), { MASQUERADE_AUDIT_SECONDS: '3600' })
  })
  after(async () => {
    await other?.[Symbol.asyncDispose]()
  })

  /** The state that the answer tells. */
  async function mask(columnName: string, node: TestService = masking.service()) {
    const where = { schemaName: 'public', tableName: 'customers', columnName }
    const token = node.tokenFor({ role: 'Owner' })
    const body = { properties: { ...where, maskingFunction: 'Default' } }
    const put = await node.request('PUT', `${ruleUrl(db, columnName)}?${apiVersion}`, { token, body })
    assert.ok(put.status < 300, put.text)
    return put.headers.get('x-masquerade-enforcement')
  }

  const report = async () => (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body

  const isDenied = async ({ sql }: Database, column: string) => {
    const [row] =
      await sql`select has_column_privilege('behind_analyst', 'customers', ${column}, 'SELECT') as can`
    return row?.can === false
  }

  clause(
    'ENF-405',
    'Every turn, of any node and also one that changes nothing, asks the standbys whether they have replayed the masks of…',
    async () => {
      const direct = await connectDirectly('behind_analyst')
      await whilePaused(standby, async () => {
        // A turn that has masked the column waits for the standby. The next ones have nothing to change.
        const first = mask('name')
        await waitUntil('the primary denies the name', () => isDenied(primary, 'name'))
        const later = [mask('name'), mask('name', other)]
        const isPending = async () => (await report()).state === 'Pending'
        await holdsFor(1_000, 'the state is pending', isPending)
        assert.deepEqual(await Promise.all([first, ...later]), ['Pending', 'Pending', 'Pending'])
        assert.deepEqual((await direct.query('select name from customers')).rows, [{ name: 'ann' }])
        assert.match((await report()).reason, behind)
      })
      await untilEnforced()
      await assert.rejects(direct.query('select name from customers'), { code: '42501' })
    },
  )
})
