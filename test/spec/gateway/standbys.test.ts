import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type pg from 'pg'
import type { Database } from '../../../src/db/database.ts'
import { asksReadOnly } from '../../../src/gateway/login/asks-read-only.ts'
import { useBoundPair } from '../../support/bound-pair.ts'
import { clause } from '../../support/clause.ts'
import { freshDatabase, policyUrl } from '../../support/masking.ts'
import { openNetwork } from '../../support/network.ts'
import { ended, endedBy } from '../../support/people.ts'
import { whilePaused } from '../../support/standby.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

const schema = `
  create table public.customers (id int primary key, name text, email text, city text);
  insert into public.customers values (1, 'ann', 'ann@example.com', 'Ghent');
  create role standby_analyst login password 'secret'; create role standby_auditor login password 'secret';
  create role standby_readers; grant standby_readers to standby_analyst;
  grant usage on schema public to public; grant select on public.customers to standby_readers, standby_auditor`

const read = 'select email from public.customers'
const readOnly = '-c default_transaction_read_only=on'
const own = 'api-version=2026-11-01'

describe('standbys of a masked database', () => {
  const { masking, db, pair, hosts, bind, readPort, ...sessions } = useBoundPair({ schema, first: 'primary' })
  let primary: Database
  let standby: Database
  before(async () => {
    primary = pair().open(pair().primary, 'people')
    standby = pair().open(pair().standby, 'people')
    const servers = { host: hosts(), password: pair().password }
    const bound = await bind({ ...servers, readOnlySessions: 'Standby' }, own)
    assert.equal(bound.status, 201, bound.text)
    await mask('email', 'Email')
    await exempt('standby_auditor')
  })

  async function exempt(exemptPrincipals: string, state = 'Enforced') {
    const put = await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals })
    assert.equal(put.headers.get('x-masquerade-enforcement'), state, put.text)
  }

  async function mask(columnName: string, maskingFunction = 'Default') {
    const where = { schemaName: 'public', tableName: 'customers', columnName }
    return (await masking.putRule(db, columnName, { ...where, maskingFunction })).headers.get(
      'x-masquerade-enforcement',
    )
  }

  const connect = (role: string, options: pg.ClientConfig = { options: readOnly }) =>
    sessions.connect(`standby_${role}`, options)

  /** A session at the standby, once that has replayed everything. */
  const connectToStandby = (role: string, options?: pg.ClientConfig) =>
    retryUntil(async () => {
      const client = await connect(role, options)
      if ((await readPort(client)) === pair().standby.port) return client
      await client.end()
      throw new Error('the session is at the primary')
    })

  clause(
    'MASK-216',
    'In api-version `2026-11-01` a binding has `readOnlySessions`: `Standby` sends…',
    async () => {
      const shown = async (version: string) =>
        (await masking.send('GET', `${db}?${version}`)).body.properties.binding.readOnlySessions
      assert.deepEqual([await shown(own), await shown('api-version=2014-04-01')], ['Standby', undefined])
      const early = await bind({ host: hosts(), readOnlySessions: 'Standby' })
      assert.equal(early.body.error?.target, 'properties.binding.readOnlySessions', early.text)
      assert.equal((await bind({ host: hosts() })).status, 200)
      assert.equal(await shown(own), 'Standby')
      const alone = await masking.send('PUT', `${freshDatabase()}?${own}`, {
        properties: { binding: { host: '127.0.0.1', database: 'd', user: 'u', readOnlySessions: 'Standby' } },
      })
      assert.equal(alone.body.error?.target, 'properties.binding.readOnlySessions', alone.text)
    },
  )

  clause(
    'ENF-212',
    'Masks hold on physical standbys. Where a binding uses standbys, a change is `Pending` until each that…',
    async () => {
      const direct = await sessions.connectDirectly('standby_analyst')
      await assert.rejects(direct.query(read), { code: '42501' })
      const { rows } = await direct.query('select email from masked_public.customers')
      assert.deepEqual(rows, [{ email: 'aXXX@XXXX.com' }])

      const report = async () => (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body
      await whilePaused(standby, async () => {
        assert.equal(await mask('name'), 'Pending')
        assert.match((await report()).reason, /The standby 127\.0\.0\.1:\d+ has not replayed/)
      })
      await waitUntil('the standby has replayed', async () => (await report()).state === 'Enforced')
      await assert.rejects(direct.query('select name from customers'), { code: '42501' })
    },
  )

  clause(
    'GATE-183',
    'A session in a bound database of one host that turns out to be at a standby, as by a name with…',
    async () => {
      const { user, password, open } = pair()
      await primary.sql`create database plain`
      await open(pair().primary, 'plain').sql`create table public.later (id int)`
      const alone = freshDatabase()
      const binding = { host: '127.0.0.1', port: pair().standby.port, database: 'plain', user, password }
      const isReplayed = async () =>
        (await standby.sql`select from pg_database where datname = 'plain'`).length > 0
      await waitUntil('the standby has the database', isReplayed)
      const bound = await masking.send('PUT', alone, { properties: { binding } })
      assert.equal(bound.status, 201, bound.text)
      const database = alone.replace(/^.*\//, '')
      await assert.rejects(connect('analyst', { database }), { code: '57P03' })
    },
  )

  clause(
    'ENF-214',
    'A withdrawn exemption also ends the sessions of its roles at the standbys that a binding uses,…',
    async () => {
      const direct = await sessions.connectDirectly('standby_auditor')
      await direct.query(`begin; declare raw cursor for ${read}`)
      const { rows } = await direct.query('fetch raw')
      assert.deepEqual(rows, [{ email: 'ann@example.com' }])
      const end = ended(direct, 10_000)
      await exempt('')
      assert.equal(await end, '57P01')
      await exempt('standby_auditor')
    },
  )

  clause(
    'ENF-214',
    'A withdrawn exemption also ends the sessions of its roles at the standbys that a binding uses,…',
    async () => {
      const address = `postgres://127.0.0.1:${pair().standby.port}`
      const network = await openNetwork(address)
      const rebind = async (host: string) => {
        const bound = await bind({ host, password: pair().password, readOnlySessions: 'Standby' }, own)
        assert.equal(bound.status, 200, bound.text)
      }
      const { host, port } = network.address
      await rebind(`127.0.0.1:${pair().primary.port},${host}:${port}`)
      const direct = await sessions.connectDirectly('standby_auditor')
      await direct.query(`begin; declare raw cursor for ${read}`)
      network.close()
      await exempt('', 'Pending')
      const { rows } = await direct.query('fetch raw')
      assert.deepEqual(rows, [{ email: 'ann@example.com' }])
      const noteOf = async () =>
        (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body.notes.find(
          ({ code }: { code: string }) => code === 'OpenSession',
        )
      assert.match((await noteOf()).message, /^Sessions at standbys of role "standby_auditor", /)
      await exempt('', 'Pending')
      assert.equal((await noteOf()).target, 'standby_auditor')

      const end = ended(direct, 10_000)
      const reopened = await openNetwork(address, port)
      await exempt('')
      assert.equal(await end, '57P01')
      const later = await sessions.connectDirectly('standby_auditor')
      await exempt('')
      assert.equal(await noteOf(), undefined)
      await later.query('select 1')
      await exempt('standby_auditor')
      await rebind(hosts())
      reopened.close()
    },
  )

  clause(
    'GATE-172',
    'With `readOnlySessions` `Standby`, a session that asks for read-only transactions…',
    async () => {
      for (const wish of [{ options: readOnly }, { options: '--default-transaction-read-only=true' }]) {
        const client = await connectToStandby('analyst', wish)
        assert.deepEqual((await client.query(read)).rows, [{ email: 'aXXX@XXXX.com' }])
        assert.deepEqual((await client.query('show transaction_read_only')).rows, [
          { transaction_read_only: 'on' },
        ])
      }
      assert.equal(await readPort(await connect('analyst', {})), pair().primary.port)
      await whilePaused(standby, async () => {
        await primary.sql`create table public.later (id int)`
        assert.equal(await readPort(await connect('analyst')), pair().primary.port)
      })
    },
  )

  clause(
    'GATE-173',
    'Sessions at a standby end with 57P01 when masks or exemptions of the database change, when…',
    async () => {
      const auditor = await connectToStandby('auditor')
      await auditor.query(`begin; declare raw cursor for ${read}`)
      const analyst = await connectToStandby('analyst')
      const withdrawn = exempt('')
      const ends = [auditor, analyst].map((client) => endedBy(client, 5_000, () => withdrawn))
      assert.deepEqual(await Promise.all(ends), ['57P01', '57P01'])
      const later = await connectToStandby('auditor')
      assert.deepEqual((await later.query(read)).rows, [{ email: 'aXXX@XXXX.com' }])

      const member = await connectToStandby('analyst')
      const end = ended(member, 5_000)
      await primary.sql`revoke standby_readers from standby_analyst`
      assert.equal(await end, '57P01')
      await primary.sql`grant standby_readers to standby_analyst`

      const behind = await connectToStandby('auditor')
      const left = ended(behind, 20_000)
      await whilePaused(standby, async () => {
        await primary.sql`create table public.still_later (id int)`
        assert.equal(await left, '57P01')
      })
    },
  )
})

describe('a wish for read-only transactions', () => {
  it('is read from the startup packet as PostgreSQL reads it', () => {
    const asks = (parameters: Record<string, string>) => asksReadOnly(new Map(Object.entries(parameters)))
    for (const options of [
      '-c default_transaction_read_only=on',
      '-cdefault_transaction_read_only=1',
      '-c Default_Transaction_Read_Only=TRUE -c work_mem=4MB',
      '--default-transaction-read-only=y',
      '-c search_path=a\\ b -c default_transaction_read_only=on',
    ])
      assert.equal(asks({ options }), true, options)
    for (const options of [
      '',
      '-c default_transaction_read_only=off',
      '-c default_transaction_read_only=',
      '-c default_transaction_read_only=on -c default_transaction_read_only=off',
      'default_transaction_read_only=on',
      '-c search_path=-c\\ default_transaction_read_only=on',
    ])
      assert.equal(asks({ options }), false, options)
    assert.equal(asks({ default_transaction_read_only: 'on' }), true)
    assert.equal(asks({ default_transaction_read_only: 'off', options: readOnly }), false)
  })
})
