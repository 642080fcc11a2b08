import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type Occasion, TurnQueue } from '../../../src/kernel/jobs.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { apiVersion, policyUrl } from '../../support/masking.ts'
import { holdTurns } from '../../support/turn-locks.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

/** Turns that end when they are told to. */
function openTurns() {
  const queue = new TurnQueue<number>()
  const begun: { occasion: Occasion; end: () => void }[] = []
  const ask = (occasion: Occasion, key = 'a') =>
    queue.request(key, occasion, (taken) => {
      const { promise, resolve } = Promise.withResolvers<number>()
      const number = begun.length
      begun.push({ occasion: taken, end: () => resolve(number) })
      return promise
    })
  const settled = () => new Promise(setImmediate)
  return { ask, begun, settled, occasions: () => begun.map(({ occasion }) => occasion) }
}

describe('turns', () => {
  const gateway = useGateway()

  clause(
    'ENF-365',
    'The turns of a process at one binding run one after the other. Changes of rules, the policy and the…',
    async () => {
      const { ask, begun, settled, occasions } = openTurns()
      const first = ask('login')
      const logins = Array.from({ length: 24 }, () => ask('login'))
      const change = ask('change')
      const audits = [ask('audit'), ask('audit')]
      const withdrawal = ask('login')
      const elsewhere = ask('change', 'b')
      assert.deepEqual(occasions(), ['login', 'change'], 'one turn of each binding')
      begun[0]?.end()
      await settled()
      assert.deepEqual(occasions().slice(2), ['login'], 'all that waited share a turn, but for the audit')
      const late = [ask('change'), ask('change')]
      begun[2]?.end()
      await settled()
      assert.deepEqual(occasions().slice(3), ['audit'])
      begun[3]?.end()
      await settled()
      assert.deepEqual(occasions().slice(4), ['change'], 'a change alone looks at its tables alone')
      for (const { end } of begun) end()
      assert.equal(await first, 0)
      assert.deepEqual(new Set(await Promise.all([...logins, change, withdrawal])), new Set([2]))
      assert.deepEqual(await Promise.all([elsewhere, ...audits, ...late]), [1, 3, 3, 4, 4])
      const after = ask('audit')
      assert.equal(begun.length, 6, 'none is under way')
      begun[5]?.end()
      assert.equal(await after, 5)
    },
  )

  clause(
    'ENF-366',
    'A turn waits for no second connection to its database, and neither does the dry run of one: any number…',
    async () => {
      const { masking, db, masked } = gateway
      const own = 'api-version=2026-11-01'
      const rule = {
        schemaName: 'public',
        tableName: 'notes',
        columnName: 'body',
        maskingFunction: 'Default',
      }
      const sent: ReturnType<typeof masking.send>[] = []
      {
        await using turns = await holdTurns(masked())
        for (let round = 0; round < 5; round++) {
          sent.push(masking.send('GET', `${policyUrl(db)}/enforcement?${apiVersion}&plan=true`))
          sent.push(masking.putRule(db, 'notes', rule))
          sent.push(masking.send('GET', `${policyUrl(db)}/exposures`))
          sent.push(masking.send('POST', `${policyUrl(db)}/impact?${own}`, {}))
        }
        void Promise.allSettled(sent)
        await waitUntil('a turn and looks wait', async () => (await turns.countWaiting()) > 1)
        await holdsFor(500, 'no more wait', async () => (await turns.countWaiting()) <= 3)
      }
      for (const { status, text } of await Promise.all(sent)) assert.ok(status < 300, text)
      const state = await masking.send('GET', `${policyUrl(db)}/enforcement`)
      assert.equal(state.body.state, 'Enforced', state.text)
    },
  )
})
