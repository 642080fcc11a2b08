import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SessionTouches } from '../../../../../src/gateway/audit/session-touches.ts'
import {
  nothingFound,
  type StatementEffect,
  touchOf,
  unparsed,
} from '../../../../../src/gateway/audit/touch.ts'
import { PreparedStatements } from '../../../../../src/gateway/session/ledger/prepared-statements.ts'
import { StatementLedger } from '../../../../../src/gateway/session/ledger/statement-ledger.ts'
import { findBoundName, message } from '../../../../../src/wire/messages.ts'
import { runs } from '../../../../support/runs.ts'

const reads = (column: string): StatementEffect => ({
  touch: touchOf('SELECT', { ...nothingFound(), raw: new Set([column]) }),
  executes: [],
})

/** What clients send, as the conversation passes it on. */
function open() {
  const touches = new SessionTouches(() => {})
  const ledger = new StatementLedger(touches)
  const state = (version: number) => ({ version, path: undefined })
  return {
    touches,
    ledger,
    query: (effects: StatementEffect[], version = 1) => ledger.sendQuery(effects, state(version)),
    parse: (name: string, effects: StatementEffect[], version = 1) =>
      ledger.sendParse(name, effects, state(version)),
    bind: (name: string, version = 1, portal = '') => {
      const frame = message('B', `${portal}\0${name}\0`)
      ledger.sendBind(
        ledger.find(frame, findBoundName(frame, 0, frame.length)),
        state(version),
        portal !== '',
      )
      ledger.sendExecute(portal !== '')
    },
    /** As if the server had run all. */
    counts: () => {
      ledger.end()
      return touches.take().touches.map(({ raw, count }) => `${raw} ${count}`)
    },
  }
}

describe('what a session touches', () => {
  test('a prepared statement counts at every run', () => {
    const { touches, parse, bind, counts } = open()
    parse('s', [reads('a')])
    for (let run = 0; run < 4; run++) bind('s', 1, run % 2 === 0 ? '' : 'portal')
    parse('', [reads('b')])
    bind('')
    bind('unknown')
    assert.deepEqual(counts(), ['a 4', 'b 1'])
    parse('', [])
    bind('')
    assert.deepEqual(counts(), [])
    assert.equal(touches.statements, 7)
  })

  test('names are those that PostgreSQL tells apart', () => {
    const { query, parse, bind, counts } = open()
    parse(Buffer.from('é').toString('latin1'), [reads('a')])
    query([{ executes: ['é'] }])
    query([{ executes: ['é'] }])
    parse('x'.repeat(70), [reads('b')])
    bind('x'.repeat(63))
    bind('x'.repeat(80))
    assert.deepEqual(counts(), ['a 2', 'b 2'])
  })

  test('what an error may show counts at each error before the transaction ends', () => {
    const { ledger, touches, query, parse, bind, counts } = open()
    const writes = (column: string): StatementEffect => ({ onError: reads(column).touch, executes: [] })
    query([writes('a')])
    ledger.hearReady(false)
    for (let error = 0; error < 2; error++) {
      query([])
      ledger.missError()
      ledger.hearReady(error > 0)
    }
    query([])
    ledger.missError()
    ledger.hearReady(true)
    assert.deepEqual(counts(), ['a 2'])
    // The answer to the Sync says nothing about messages behind it.
    parse('s', [writes('b')])
    ledger.hearComplete()
    ledger.sendSync()
    bind('s')
    ledger.hearReady(true)
    ledger.missError()
    ledger.sendSync()
    ledger.hearReady(true)
    query([])
    ledger.missError()
    ledger.hearReady(true)
    assert.deepEqual(counts(), ['b 1'])
    query([{ ...writes('c'), prepares: 'p' }])
    ledger.hearPrepare()
    ledger.hearReady(true)
    query([{ executes: ['p'] }])
    ledger.missError()
    assert.deepEqual(counts(), ['c 1'])
    // Beyond a hundred kinds it is not known.
    for (let column = 0; column < 200; column++) query([writes(`d${column}`)])
    ledger.missError()
    assert.equal(touches.take().leftOut, 1)
  })

  test('a Sync that is answered after its COPY failed makes no other statement count', () => {
    const { ledger, query, parse, bind, counts } = open()
    parse('s', [reads('a')])
    ledger.sendSync()
    ledger.hearComplete()
    ledger.hearReady(true)
    query([])
    ledger.sendSync()
    ledger.hearCopyIn()
    ledger.missError()
    ledger.hearReady(true)
    parse('', [])
    ledger.sendSync()
    // The server refuses it: there is a statement of that name.
    parse('s', [])
    ledger.sendSync()
    ledger.hearReady(true)
    ledger.hearComplete()
    ledger.hearReady(true)
    ledger.missError()
    ledger.hearReady(true)
    bind('s')
    bind('s')
    assert.deepEqual(counts(), ['a 2'])
  })

  test('what was prepared under other masks may touch more than was found', () => {
    const { query, parse, bind, counts } = open()
    parse('clean', [])
    parse('', [])
    parse('s', [reads('a')])
    for (const name of ['clean', '', 's']) bind(name)
    assert.deepEqual(counts(), ['a 1'])
    for (const name of ['clean', '', 's']) bind(name, 2)
    query([{ executes: ['clean'] }], 2)
    assert.deepEqual(counts(), [' 4', 'a 1'])
    parse('clean', [], 2)
    bind('clean', 2)
    assert.deepEqual(counts(), [])
  })

  test('many names, old and new, are found as in a plain map', () => {
    const name = fc.stringMatching(/^[a-c]{0,3}$/)
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.option(fc.nat(), { nil: undefined }), name)), (steps) => {
        const names = new PreparedStatements()
        const plain = new Map<string, number | undefined>()
        for (const [set, value, asked] of steps) {
          const known = names.get(set)
          if (value !== undefined) names.add({ name: set, effects: [], version: value, path: '' }, 0, true)
          else if (known) names.close(known)
          plain.set(set, value)
          for (let time = 0; time < 2; time++)
            assert.equal(names.find(Buffer.from(`x${asked}\0y`), 1)?.version, plain.get(asked))
          assert.equal(names.get(asked)?.version, plain.get(asked))
        }
      }),
      { numRuns: runs(100) },
    )
  })

  test('what runs itself ends', () => {
    const { parse, bind, counts } = open()
    parse('loop', [{ executes: ['loop'] }])
    for (let run = 0; run < 3; run++) bind('loop')
    assert.deepEqual(counts(), [])
  })

  test('it holds no more than so much', () => {
    const { ledger, touches, parse, bind, counts } = open()
    for (let each = 0; each < 5_000; each++) parse(`s${each}`, [reads(`column${each}`)])
    for (let each = 0; each < 5_000; each++) bind(`s${each}`)
    ledger.end()
    const { touches: listed, leftOut } = touches.take()
    // The names beyond 2,000 may mean anything.
    assert.deepEqual([listed.length, leftOut], [100, 4_900])
    bind('s4999')
    bind('s4999')
    assert.deepEqual(counts(), [' 2'])
  })

  test('a name that is not held may mean a statement that was prepared unseen', () => {
    const { ledger, query, bind, counts } = open()
    bind('unseen')
    query([{ executes: ['unseen'] }])
    assert.deepEqual(counts(), [])
    query([...unparsed])
    bind('unseen')
    query([{ executes: ['unseen'] }])
    assert.deepEqual(counts(), [' 3'])
    // Before anything was masked no text was read.
    const early = open()
    early.ledger.sendQuery([], { version: 1, path: undefined, isUnmasked: true })
    early.ledger.sendBind(ledger.find(Buffer.from('unseen\0'), 0), {
      version: 1,
      path: undefined,
      isUnmasked: true,
    })
    assert.deepEqual(early.counts(), [])
    early.bind('unseen', 2)
    assert.deepEqual(early.counts(), [' 1'])
  })

  test('a Bind that is cut short runs no statement', () => {
    const { ledger, parse, counts } = open()
    parse('s', [reads('a')])
    for (const bytes of [Buffer.alloc(0), Buffer.from('portal')]) {
      const frame = message('B', bytes)
      ledger.sendBind(ledger.find(frame, findBoundName(frame, 0, frame.length)), { version: 1, path: '' })
    }
    assert.deepEqual(counts(), [])
  })
})
