import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { queryObjects } from 'node:v8'
import { SessionTouches } from '../../../../../src/gateway/audit/session-touches.ts'
import {
  nothingFound,
  type StatementEffect,
  touchOf,
  unparsed,
} from '../../../../../src/gateway/audit/touch.ts'
import { PreparedStatement } from '../../../../../src/gateway/session/ledger/prepared-statement.ts'
import { StatementLedger } from '../../../../../src/gateway/session/ledger/statement-ledger.ts'
import { clause } from '../../../../support/clause.ts'

const state = { version: 1, path: 'public' }
const text = { parse: Buffer.alloc(9), splices: [], reading: undefined }
const error = Buffer.from('E\0\0\0\x05\0', 'latin1')
const prepare = (count: number, columns: readonly string[] = []): StatementEffect[] => {
  const touch = touchOf('PREPARE', { ...nothingFound(), raw: new Set(columns) })
  return Array.from({ length: count }, () => ({ touch, prepares: 'a', executes: [] }))
}
/** Statements that a ledger, or one before it, still leads to. */
function countKept(ledger: StatementLedger): number {
  const kept = queryObjects(PreparedStatement, { format: 'count' })
  // Used once more, so that the ledger is not collected before it is looked at.
  assert.ok(ledger.find(Buffer.alloc(1), 0) === undefined)
  return kept
}

function open() {
  const touches = new SessionTouches(() => {})
  const ledger = new StatementLedger(touches)
  return {
    ledger,
    touches,
    find: (name: string) => ledger.find(Buffer.from(`${name}\0`), 0),
    /** A query behind a message without a Sync. */
    mix: () => {
      ledger.sendExecute()
      ledger.sendQuery([], state)
      ledger.hearReady()
    },
  }
}

describe('what a session makes the gateway keep', () => {
  const quote =
    'What a session makes the gateway keep and send is bounded while the database does not answer, or the gateway cannot tell…'

  clause('GATE-222', quote, async (t) => {
    await t.test('statements of PREPARE count as messages', () => {
      const { ledger } = open()
      assert.throws(() => {
        for (let query = 0; query < 500; query++) ledger.sendQuery(prepare(480), state)
      }, /54000|200000/)
      assert.ok(countKept(ledger) <= 200_000 + 480)
    })

    await t.test('answered and refused ones do not count', () => {
      const { ledger } = open()
      for (let query = 0; query < 1_000; query++) {
        ledger.sendQuery(prepare(480), state)
        for (let answer = 0; answer < 480 && query % 3 !== 0; answer++) ledger.hearPrepare()
        if (query % 3 !== 1) ledger.hearError(error)
        ledger.hearReady()
      }
      assert.ok(countKept(ledger) <= 10)
    })

    await t.test('what unanswered statements touch', () => {
      const { ledger, touches, find } = open()
      const columns = Array.from({ length: 1_000 }, (_, at) => `public.t.column${at}`)
      const touch = touchOf('SELECT', { ...nothingFound(), raw: new Set(columns) })
      const names = Array.from({ length: 1_000 }, (_, at) => `s${at}`)
      for (const name of names) ledger.sendParse(name, [{ touch, executes: [] }], state)
      const held = names.filter((name) => find(name)?.effects !== unparsed)
      assert.ok(held.length > 50 && held.length * JSON.stringify(columns).length < 4 << 20, `${held.length}`)
      assert.deepEqual(held, names.slice(0, held.length))
      for (const name of names) {
        ledger.sendBind(find(name), state)
        ledger.sendExecute()
      }
      ledger.end()
      assert.deepEqual(
        touches.take().touches.map(({ kind, count }) => [kind, count]),
        [
          ['SELECT', held.length],
          ['UNKNOWN', names.length - held.length],
        ],
      )
      ledger.sendSync()
      for (const _ of names) ledger.hearComplete()
      ledger.hearReady()
      ledger.sendQuery(prepare(1, columns), state)
      assert.notEqual(find('a')?.effects, unparsed)
    })

    await t.test('runs whose answers are pending', () => {
      const { ledger, touches } = open()
      const queries = (count: number, columns: readonly string[]) => {
        const touch = touchOf('SELECT', { ...nothingFound(), raw: new Set(columns) })
        for (let query = 0; query < count; query++) ledger.sendQuery([{ touch, executes: [] }], state)
        const [counted] = touches.take().touches
        return counted?.count ?? 0
      }
      // Beyond, they count before they are answered.
      assert.equal(queries(10_100, ['a']), 100)
      ledger.end()
      touches.take()
      assert.equal(queries(10, ['a'.repeat(1_000_000)]), 7)
    })

    await t.test('statements of PREPARE whose answers cannot be told apart', () => {
      const { ledger, mix } = open()
      mix()
      for (let round = 0; round < 1_000; round++) {
        ledger.sendQuery(prepare(1), state)
        ledger.hearPrepare()
        ledger.hearReady()
      }
      const kept = countKept(ledger)
      assert.ok(kept <= 10, `${kept} statements are kept`)
    })

    await t.test('texts whose answers cannot be told apart', () => {
      const { ledger, find, mix } = open()
      mix()
      for (let round = 0; round < 1_000; round++) {
        ledger.sendParse('p', [], state, { text })
        ledger.sendSync()
        ledger.hearComplete()
        ledger.hearReady()
        assert.equal(find('p')?.text, undefined)
      }
      assert.ok(countKept(ledger) <= 10)
    })

    await t.test('statements of a session that always has something under way', () => {
      const { ledger, find } = open()
      ledger.sendSync()
      for (let round = 0; round < 20_000; round++) {
        ledger.sendParse('p', [], state, { text })
        ledger.sendClose(find('p'))
        ledger.sendSync()
        ledger.hearReady()
        ledger.hearComplete()
        ledger.hearComplete()
      }
      const kept = countKept(ledger)
      assert.ok(kept <= 10_100, `${kept} statements are kept`)
    })

    await t.test('a statement is prepared again so often', () => {
      const { ledger, find } = open()
      ledger.sendParse('p', [], state, { text })
      ledger.sendSync()
      ledger.hearComplete()
      ledger.hearReady()
      const statement = find('p')
      assert.ok(statement)
      const newer = { ...state, version: 2 }
      const bind = () => {
        const needs = ledger.needsRenewal(statement, 2)
        if (needs) {
          ledger.readAgain(statement, [], newer)
          ledger.sendRenewal(statement, text, undefined)
        }
        ledger.sendBind(statement, newer)
        ledger.sendSync()
        return needs
      }
      const renewed = Array.from({ length: 100 }, bind).filter((needs) => needs).length
      assert.equal(renewed, 16)
      // The last one fails: the server closed the statement, and it is prepared again at its next use.
      for (let answer = 0; answer < 15; answer++) {
        ledger.hearComplete()
        ledger.hearComplete()
        ledger.hearReady()
      }
      ledger.hearComplete()
      ledger.hearError(error)
      ledger.hearReady()
      assert.ok(bind())
      for (let answer = 16; answer < 100; answer++) ledger.hearReady()
      ledger.hearComplete()
      ledger.hearComplete()
      ledger.hearReady()
      assert.ok(!bind())
    })
  })

  test('a Close goes through the statements of a mixed session no more', () => {
    const { ledger, find, mix } = open()
    for (let round = 0; round < 100; round++) ledger.sendParse('p', [], state, { text })
    mix()
    ledger.sendClose(find('p'))
    assert.equal(find('p')?.isClosing, false)
  })
})
