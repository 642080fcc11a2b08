import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { createLeases } from '../../../src/enforcement/lease.ts'
import { Standbys } from '../../../src/enforcement/standbys.ts'
import { createStateStore } from '../../../src/enforcement/states/state-store.ts'
import { selectBound } from '../../../src/masking/binding/find-bound.ts'
import { lockDatabase } from '../../../src/masking/databases/database-row.ts'
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

const behind = /Not yet replayed by the standby 127\.0\.0\.1:\d+/

describe('standbys that are behind', () => {
  const { masking, db, pair, hosts, bind, connectDirectly } = useBoundPair({ schema, first: 'primary' })
  let primary: Database
  let standby: Database
  let other: TestService
  before(async () => {
    primary = pair().open(pair().primary, 'people')
    standby = pair().open(pair().standby, 'people')
    const binding = { host: hosts(), password: pair().password, readOnlySessions: 'Standby' }
    const bound = await bind(binding, 'api-version=2026-11-01')
    assert.equal(bound.status, 201, bound.text)
    assert.equal(await mask('email'), 'Enforced')
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

  const isLeftOut = async () => {
    const { state, notes } = await report()
    return state === 'Enforced' && notes.some(({ code }: { code: string }) => code === 'StandbyBehind')
  }

  const isDenied = async ({ sql }: Database, column: string) => {
    const [row] =
      await sql`select has_column_privilege('behind_analyst', 'customers', ${column}, 'SELECT') as can`
    return row?.can === false
  }

  /** As by a turn of a node that begins, so long after the last change. */
  async function judge(endedMs: number, suspend: (reason: string) => void) {
    const target = {
      key: '',
      standbyPlaces: [pair().primary, pair().standby].map(({ port }) => ({ host: '127.0.0.1', port })),
      connectTo: () => pair().open(pair().standby, 'people'),
    }
    const standbys = new Standbys({ connect: async () => primary }, { find: async () => target })
    return await standbys.judge('', target, primary, {
      record: { schema: '', open: [] },
      lease: { readLast: async () => ({ epoch: 1, endedMs }) },
      suspend: async (reason) => suspend(reason),
    })
  }

  clause(
    'ENF-405',
    'Every turn, of any node and also one that changes nothing, compares the masks that the standbys show with those of the primary…',
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
        // What another node has written meanwhile is replaced before the wait.
        const told: string[] = []
        const { pending } = await judge(0, (reason) => told.push(reason))
        assert.match(pending ?? '', behind)
        assert.deepEqual(told, [pending])
        const leftOut = await judge(7_001, (reason) => told.push(reason))
        assert.deepEqual([leftOut.pending, leftOut.notes[0]?.code, told.length], [null, 'StandbyBehind', 1])
      })
      await waitUntil('the standby has replayed', async () => (await report()).state === 'Enforced')
      await assert.rejects(direct.query('select name from customers'), { code: '42501' })
    },
  )

  clause(
    'ENF-406',
    'The seven seconds of a standby that is behind (ENF-212) begin with the last change, of whatever node…',
    async () => {
      await whilePaused(standby, async () => {
        assert.equal(await mask('city'), 'Pending')
        await waitUntil('the standby is left out', isLeftOut, { withinMs: 20_000 })
        // The other node has not looked at the change before.
        await masking.service().database.sql`update enforcement_state set notes = '[]'`
        assert.equal(await mask('city', other), 'Enforced')
        assert.ok(await isLeftOut())
      })
      await waitUntil('the standby has replayed', () => isDenied(standby, 'city'))
    },
  )

  clause(
    'ENF-407',
    'A turn that has looked at standbys does not write `Enforced` after a later turn of any node has begun to change the database…',
    async () => {
      const { sql } = masking.service().database
      const [row] = await sql<{ id: string }[]>`
        select id from masked_database where key = ${db.toLowerCase()}`
      const id = row?.id ?? ''
      const states = createStateStore(sql, selectBound, lockDatabase)
      const lease = createLeases(sql, id)(id)
      const { lastChange } = await states.readBeforeTurn(id)
      const facts = { notes: null, drifted: false, auditEveryMs: 3_600_000, lastChange }
      const seen = await lease.look()
      const { epoch } = await lease.readLast()
      assert.equal(epoch, seen)
      const held = await lease.take(seen, 0)
      await states.suspendEnforced(id, 'a standby is behind')
      assert.equal(await states.writeEnforced(id, { ...facts, lastTurn: epoch }), undefined)
      const { state, reason } = await states.read(id)
      assert.deepEqual([state, reason], ['Pending', 'a standby is behind'])
      await held.release()
      const written = await states.writeEnforced(id, { ...facts, lastTurn: held.epoch })
      assert.equal(written?.state, 'Enforced')
      // A failure keeps its reason.
      await states.writeFailure(id, 'Failed', 'no privilege')
      await states.suspendEnforced(id, 'a standby is behind')
      assert.equal((await states.read(id)).reason, 'no privilege')
    },
  )
})
