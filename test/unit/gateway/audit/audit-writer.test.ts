import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pino from 'pino'
import { AuditWriter } from '../../../../src/gateway/audit/audit-writer.ts'
import type { SessionTouches } from '../../../../src/gateway/audit/session-touches.ts'
import { nothingFound, touchOf } from '../../../../src/gateway/audit/touch.ts'
import type { SessionEvent } from '../../../../src/gateway/ports.ts'
import { clause } from '../../../support/clause.ts'
import { holdsFor, waitUntil } from '../../../support/wait-until.ts'

const session = {
  id: 'one',
  role: 'ann',
  principal: undefined,
  database: {
    id: 'd',
    target: '/d',
    isReached: true,
    address: { host: '', port: 0, database: '', addresses: [] },
  },
  from: '::1',
  encrypted: true,
}
const readA = touchOf('SELECT', { ...nothingFound(), raw: new Set(['a']) })

function runA(touches: SessionTouches): void {
  touches.statements++
  if (readA) touches.count(readA)
}

function openWriter(
  record: (events: readonly SessionEvent[]) => Promise<void>,
  findWouldMask: (databaseId: string) => Promise<readonly string[]> = async () => [],
) {
  const lines: { msg: string; count?: number }[] = []
  let lost = 0
  const writer = new AuditWriter({
    record,
    findWouldMask,
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

describe('what is written into the audit', () => {
  test('what is new is written at once, what repeats itself later, and all of it at the end', async () => {
    const written: SessionEvent[] = []
    const { writer } = openWriter(async (events) => void written.push(...events))
    const { touches, end } = writer.open(session)
    runA(touches)
    await waitUntil('what is new', () => written.length === 1)
    for (let run = 0; run < 5; run++) runA(touches)
    await holdsFor(50, 'what repeats itself is not written', () => written.length === 1)
    end()
    await waitUntil('the end', () => written.length >= 3)
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
    runA(writer.open(session).touches)
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
      await waitUntil('the loss', () => lost() > 0 && lines.length > 0)
      assert.equal(lost(), 20)
      assert.equal(lines.filter(({ msg }) => msg.includes('cannot be written')).length, 1)
      isAway = false
      await waitUntil('the entries that waited', () => written.length >= 10_000)
      assert.equal(written.length, 10_000)
      assert.deepEqual([written[0]?.session.id, written.at(-1)?.session.id], ['20', '10019'])
      assert.equal(lines.find(({ msg }) => msg.includes('were lost'))?.count, 20)
      await writer.close()
    },
  )

  test('events wait for the answer of their own database alone, in order, and until the end at most', async () => {
    const written: SessionEvent[] = []
    const { writer } = openWriter(
      async (events) => void written.push(...events),
      (id) => (id === 'silent' ? new Promise(() => {}) : Promise.resolve(['ann'])),
    )
    for (const id of ['silent', 'observed']) {
      const { touches, end } = writer.open({ ...session, database: { ...session.database, id } })
      runA(touches)
      end()
    }
    const seen = () =>
      written.map((event) => [
        event.session.database.id,
        event.kind === 'touched' ? event.isObserved : event.kind,
      ])
    const answered = [
      ['observed', true],
      ['observed', 'ended'],
    ]
    await waitUntil('the database that answers', () => written.length === 2)
    assert.deepEqual(seen(), answered)
    await writer.close()
    assert.deepEqual(seen(), [...answered, ['silent', undefined], ['silent', 'ended']])
  })

  clause(
    'GATE-203',
    'An entry has up to 2 million characters of names of columns; `leftOut` counts the statements…',
    async () => {
      const batches: (readonly SessionEvent[])[] = []
      const { writer } = openWriter(async (events) => void batches.push(events))
      const long = (kind: string, length: number) =>
        touchOf(kind, { ...nothingFound(), raw: new Set(['c'.repeat(length)]) })
      for (let each = 0; each < 20; each++) {
        const { touches, end } = writer.open({ ...session, id: String(each) })
        for (const touch of [long('COPY', 2_000_000), long('SELECT', 1_900_000), long('UPDATE', 1_900_000)])
          if (touch) touches.count(touch)
        end()
      }
      await writer.close()
      const touched = batches.flat().filter((event) => event.kind === 'touched')
      assert.equal(touched.length, 20)
      for (const { touches, leftOut } of touched)
        assert.deepEqual([touches.map(({ kind }) => kind), leftOut], [['SELECT'], 2])
      const longest = batches.map((events) => events.filter(({ kind }) => kind === 'touched').length)
      assert.deepEqual(longest, [8, 8, 4])
    },
  )

  test('a store that never answers does not keep the gateway from closing', async () => {
    let asked = 0
    const { writer } = openWriter(() => new Promise(() => void asked++))
    writer.open(session).end()
    await waitUntil('the store is asked', () => asked > 0)
    await writer.close()
  })
})
