import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pino from 'pino'
import { SessionTouches } from '../../../../src/gateway/audit/session-touches.ts'
import { nothingFound, touchOf } from '../../../../src/gateway/audit/touch.ts'
import { MaskMap } from '../../../../src/gateway/rewrite/mask-map.ts'
import { StatementLedger } from '../../../../src/gateway/session/ledger/statement-ledger.ts'
import { ServerMessages } from '../../../../src/gateway/session/server-messages.ts'
import { SessionPhase } from '../../../../src/gateway/session/session-phase.ts'
import { StatementTexts } from '../../../../src/gateway/session/statement-texts.ts'
import { message, writeFields } from '../../../../src/wire/messages.ts'

const masks = new MaskMap({ relations: [], homonyms: [] })
const state = { version: 1, path: 'public' }
const touch = (column: string) => touchOf('SELECT', { ...nothingFound(), raw: new Set([column]) })

/** A session whose client sent `PREPARE s` twice, with the answers of the server to the second time. */
function prepareTwice(...answers: readonly Buffer[]) {
  const touches = new SessionTouches(() => {})
  const ledger = new StatementLedger(touches)
  const log = pino({ level: 'silent' })
  const texts = new StatementTexts({
    masks: () => masks,
    role: 'ann',
    database: 'shop',
    parameters: new Map(),
    log,
  })
  const server = new ServerMessages(texts, ledger, new SessionPhase())
  const hear = (frame: Buffer) => server.look(frame[0] ?? 0, frame, 0, frame.length)
  ledger.sendQuery([{ touch: touch('first'), prepares: 's', executes: [] }], state)
  for (const frame of [message('C', 'PREPARE\0'), message('Z', 'I')]) hear(frame)
  ledger.sendQuery([{ touch: touch('second'), prepares: 's', executes: [] }], state)
  answers.forEach(hear)
  ledger.sendQuery([{ executes: ['s'] }], state)
  ledger.end()
  return touches.take().touches.map(({ raw, count }) => `${raw} ${count}`)
}

describe('what the server says about names of statements', () => {
  const refusal = [writeFields('E', [['C', '42P05']]), message('Z', 'I')]

  test('a second PREPARE that the server refuses leaves the first one in its place', () => {
    assert.deepEqual(prepareTwice(...refusal), ['first 1'])
  })

  test('one that it takes replaces it', () => {
    assert.deepEqual(prepareTwice(message('C', 'PREPARE\0'), message('Z', 'I')), ['second 1'])
  })

  test('PREPARE TRANSACTION prepares no statement', () => {
    assert.deepEqual(prepareTwice(message('C', 'PREPARE TRANSACTION\0'), ...refusal), ['first 1'])
  })

  test('until the server answers, both count', () => {
    assert.deepEqual(prepareTwice().sort(), ['first 1', 'second 1'])
  })
})
