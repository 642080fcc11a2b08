import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { NetworkLink } from '../../cluster/proxy.ts'
import { useBoundPair } from '../../support/bound-pair.ts'
import { clause } from '../../support/clause.ts'
import { policyUrl } from '../../support/masking.ts'
import { promised } from '../../support/wait-until.ts'

const schema = `
  create table public.customers (id int primary key, name text, email text, city text, phone text, fax text);
  create role silent_analyst login password 'secret';
  grant usage on schema public to public; grant select on public.customers to silent_analyst`

const silent = /The standby 127\.0\.0\.1:\d+ does not answer/

describe('standbys that do not answer', () => {
  const { masking, db, pair, bind, connect, readPort, untilEnforced } = useBoundPair({
    schema,
    first: 'primary',
  })
  let link: NetworkLink
  before(async () => {
    link = await NetworkLink.open(pair().standby.port)
    const host = `127.0.0.1:${pair().primary.port},127.0.0.1:${link.port}`
    const binding = { host, password: pair().password, readOnlySessions: 'Standby' }
    const bound = await bind(binding, 'api-version=2026-11-01')
    assert.equal(bound.status, 201, bound.text)
    await mask('email')
    await untilEnforced()
  })
  after(() => link?.close())

  async function mask(columnName: string) {
    const where = { schemaName: 'public', tableName: 'customers', columnName }
    const from = performance.now()
    const put = await masking.putRule(db, columnName, { ...where, maskingFunction: 'Default' })
    assert.ok(put.status < 300, put.text)
    return { state: put.headers.get('x-masquerade-enforcement'), tookMs: performance.now() - from }
  }

  const report = async () => (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body

  clause(
    'ENF-428',
    'A standby that accepts connections and does not answer within two seconds counts as one that is behind (ENF-212)…',
    async () => {
      const idle = (await mask('email')).tookMs
      link.cut()
      assert.equal((await mask('name')).state, 'Pending')
      assert.match((await report()).reason, silent)
      for (const column of ['city', 'phone', 'fax']) {
        const { state, tookMs } = await mask(column)
        assert.equal(state, 'Pending')
        assert.ok(tookMs < idle + promised(3_000), `${tookMs} ms, and ${idle} ms with the standby`)
      }
      const from = performance.now()
      const session = await connect('silent_analyst', { options: '-c default_transaction_read_only=on' })
      assert.equal(await readPort(session), pair().primary.port)
      assert.ok(performance.now() - from < promised(4_000))
      const { state, reason } = await report()
      assert.equal(state, 'Pending')
      assert.match(reason, silent)
      // It answers again, which the next audit finds.
      link.heal()
      await untilEnforced()
    },
  )
})
