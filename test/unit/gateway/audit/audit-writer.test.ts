import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import pino from 'pino'
import { AuditWriter } from '../../../../src/gateway/audit/audit-writer.ts'
import { PreparedNames } from '../../../../src/gateway/audit/prepared-names.ts'
import { SessionTouches } from '../../../../src/gateway/audit/session-touches.ts'
import { nothingFound, type StatementEffect, touchOf } from '../../../../src/gateway/audit/touch.ts'
import type { SessionEvent } from '../../../../src/gateway/ports.ts'
import { clause } from '../../../support/clause.ts'

const session = {
  id: 'one',
  role: 'ann',
  principal: undefined,
  database: { id: 'd', target: '/d', address: { host: '', port: 0, database: '' } },
  from: '::1',
  encrypted: true,
}
const reads = (column: string): StatementEffect => ({
  touch: touchOf('SELECT', { ...nothingFound(), raw: new Set([column]) }),
  executes: [],
})
const bindOf = (name: string, portal = '') => Buffer.from(`${portal}\0${name}\0`)

function openWriter(record: (events: readonly SessionEvent[]) => Promise<void>) {
  const lines: { msg: string; count?: number }[] = []
  let lost = 0
  const writer = new AuditWriter({
    record,
    onTouched: () => {},
    onLost: (count) => {
      lost += count
    },
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    everyMs: 5,
    repeatMs: 60_000,
  })
  return { writer, lines, lost: () => lost }
}

describe('the ledger of the gateway', () => {
  test('what is new is written at once, what repeats itself later, and all of it at the end', async () => {
    const written: SessionEvent[] = []
    const { writer } = openWriter(async (events) => void written.push(...events))
    const { touches, end } = writer.open(session)
    touches.query([reads('a')], 1)
    await sleep(50)
    for (let run = 0; run < 5; run++) touches.query([reads('a')], 1)
    await sleep(50)
    assert.equal(written.length, 1)
    end()
    await sleep(50)
    assert.deepEqual(
      written.map((event) =>
        event.kind === 'touched' ? event.touches.map(({ count }) => count) : event.statements,
      ),
      [[1], [5], 6],
    )
    await writer.close()
  })

  test('closing writes what is there', async () => {
    const written: SessionEvent[] = []
    const { writer } = openWriter(async (events) => void written.push(...events))
    writer.open(session).touches.query([reads('a')], 1)
    await writer.close()
    assert.equal(written.length, 1)
  })

  clause(
    'GATE-47',
    'While the store does not accept entries, sessions go on and up to 10,000 entries wait; the…',
    async () => {
      let isAway = true
      const written: SessionEvent[] = []
      const { writer, lines, lost } = openWriter(async (events) => {
        if (isAway) throw new Error('the store is away')
        written.push(...events)
      })
      for (let each = 0; each < 10_020; each++) writer.open({ ...session, id: String(each) }).end()
      await sleep(50)
      assert.equal(lost(), 20)
      assert.equal(lines.filter(({ msg }) => msg.includes('cannot be written')).length, 1)
      isAway = false
      await sleep(200)
      assert.equal(written.length, 10_000)
      assert.deepEqual([written[0]?.session.id, written.at(-1)?.session.id], ['20', '10019'])
      assert.equal(lines.find(({ msg }) => msg.includes('were lost'))?.count, 20)
      await writer.close()
    },
  )

  test('a store that never answers does not keep the gateway from closing', async () => {
    const { writer } = openWriter(() => new Promise(() => {}))
    writer.open(session).end()
    await sleep(20)
    await writer.close()
  })
})

describe('what a session touches', () => {
  const open = () => {
    const touches = new SessionTouches(() => {})
    return { touches, counts: () => touches.take().touches.map(({ raw, count }) => `${raw} ${count}`) }
  }

  test('a prepared statement counts when it is sent and at every run but the first', () => {
    const { touches, counts } = open()
    touches.parse('s', [reads('a')], 1)
    for (let run = 0; run < 4; run++) touches.bind(bindOf('s', run % 2 === 0 ? '' : 'portal'), 0, 1)
    touches.parse('', [reads('b')], 1)
    touches.bind(bindOf(''), 0, 1)
    touches.bind(bindOf('unknown'), 0, 1)
    assert.deepEqual(counts(), ['a 4', 'b 1'])
    touches.parse('', [], 1)
    touches.bind(bindOf(''), 0, 1)
    assert.deepEqual(counts(), [])
    assert.equal(touches.statements, 7)
  })

  test('names are those that PostgreSQL tells apart', () => {
    const { touches, counts } = open()
    touches.parse(Buffer.from('é').toString('latin1'), [reads('a')], 1)
    touches.query([{ executes: ['é'] }], 1)
    touches.query([{ executes: ['é'] }], 1)
    touches.parse('x'.repeat(70), [reads('b')], 1)
    touches.bind(bindOf('x'.repeat(63)), 0, 1)
    touches.bind(bindOf('x'.repeat(80)), 0, 1)
    assert.deepEqual(counts(), ['a 2', 'b 2'])
  })

  test('what was prepared under other masks may touch more than was found', () => {
    const { touches, counts } = open()
    touches.parse('clean', [], 1)
    touches.parse('', [], 1)
    touches.parse('s', [reads('a')], 1)
    for (const name of ['clean', '', 's']) touches.bind(bindOf(name), 0, 1)
    assert.deepEqual(counts(), ['a 1'])
    for (const name of ['clean', '', 's']) touches.bind(bindOf(name), 0, 2)
    touches.query([{ executes: ['clean'] }], 2)
    assert.deepEqual(counts(), [' 4', 'a 1'])
    touches.parse('clean', [], 2)
    touches.bind(bindOf('clean'), 0, 2)
    assert.deepEqual(counts(), [])
  })

  test('many names, old and new, are found as in a plain map', () => {
    const name = fc.stringMatching(/^[a-c]{0,3}$/)
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.option(fc.nat(), { nil: undefined }), name)), (steps) => {
        const names = new PreparedNames<number>()
        const plain = new Map<string, number | undefined>()
        for (const [set, value, asked] of steps) {
          names.set(set, value)
          plain.set(set, value)
          for (let time = 0; time < 2; time++)
            assert.equal(names.find(Buffer.from(`x${asked}\0y`), 1), plain.get(asked))
          assert.equal(names.get(asked), plain.get(asked))
        }
      }),
    )
  })

  test('what runs itself ends', () => {
    const { touches, counts } = open()
    touches.parse('loop', [{ executes: ['loop'] }], 1)
    for (let run = 0; run < 3; run++) touches.bind(bindOf('loop'), 0, 1)
    assert.deepEqual(counts(), [])
  })

  test('it holds no more than so much', () => {
    const { touches } = open()
    for (let each = 0; each < 5_000; each++) touches.parse(`s${each}`, [reads(`column${each}`)], 1)
    const { touches: listed, leftOut } = touches.take()
    assert.deepEqual([listed.length, leftOut], [100, 4_900])
    touches.bind(bindOf('s4999'), 0, 1)
    touches.bind(bindOf('s4999'), 0, 1)
    assert.equal(touches.take().touches.length, 0)
  })

  test('a Bind that is cut short is nobody', () => {
    const { touches } = open()
    touches.parse('s', [reads('a')], 1)
    for (const bytes of [Buffer.alloc(0), Buffer.from('portal'), Buffer.from('portal\0s')])
      touches.bind(bytes, 0, 1)
  })
})
