import assert from 'node:assert/strict'
import { describe } from 'node:test'
import pino from 'pino'
import { SessionTouches } from '../../../../../src/gateway/audit/session-touches.ts'
import { MaskMap } from '../../../../../src/gateway/rewrite/mask-map.ts'
import { Conversation } from '../../../../../src/gateway/session/conversation.ts'
import { StatementTexts } from '../../../../../src/gateway/session/statement-texts.ts'
import { message, query } from '../../../../../src/wire/messages.ts'
import { clause } from '../../../../support/clause.ts'
import { countSteps } from '../../../../support/count-steps.ts'

const t = { schema: 'public', name: 't' }
const masks = new MaskMap({
  relations: [],
  homonyms: [],
  watched: [
    {
      ...t,
      attributes: ['id', 'email'],
      masked: [{ column: 'public.t.email', attribute: 'email', isRaw: true }],
      shows: [],
    },
  ],
})
const sync = message('S')
const parse = (text: string, name = '') => message('P', `${name}\0${text}\0`, Buffer.alloc(2))
const bind = (name: string) => message('B', `portal\0${name}\0`, Buffer.alloc(6))
const times = (count: number, ...frames: Buffer[]) =>
  Buffer.concat(Array<Buffer[]>(count).fill(frames).flat())

function open() {
  const touches = new SessionTouches(() => {})
  const conversation = new Conversation({
    texts: new StatementTexts({
      masks: () => masks,
      role: 'ann',
      database: 'shop',
      parameters: new Map([['search_path', 'public']]),
      hearsPath: true,
      log: pino({ level: 'silent' }),
    }),
    touches,
    maxMessageBytes: 1 << 20,
    onStatement: () => {},
  })
  return {
    send: (...frames: Buffer[]) => void conversation.hearClient(Buffer.concat(frames)),
    answer: (...frames: Buffer[]) => void conversation.hearBackend(Buffer.concat(frames)),
    /** As if the server had run all. */
    counts: () => {
      conversation.end()
      return touches.take().touches.map(({ kind, count, isUnparsed }) => [kind, count, isUnparsed])
    },
  }
}
const count = (run: () => void) => countSteps('/src/gateway/session/', run)

describe('the steps that a message takes', () => {
  clause(
    'GATE-220',
    'A Bind takes a bounded number of steps, whatever its name may mean. PostgreSQL runs no Parse of several statements…',
    async (t) => {
      const texts: Record<string, string> = {
        'several statements': 'execute a;'.repeat(900),
        'a function that executes several': `create function f() returns void begin atomic ${'execute a;'.repeat(900)} end`,
        'one that executes another': 'execute a',
      }
      for (const [name, text] of Object.entries(texts))
        await t.test(name, (t) => {
          const { send } = open()
          send(query('select pg_sleep(3)'), times(8, parse('select email from t', 'a'), sync))
          send(times(8, parse(text, 'p'), sync))
          const steps = count(() => send(times(100, bind('p')))) / 100
          t.diagnostic(`${steps} steps for each Bind`)
          assert.ok(steps < 2_000)
        })

      await t.test('the audit', () => {
        const { send, counts } = open()
        send(parse('select email from t; select id, email from t', 'p'))
        assert.deepEqual(counts(), [])
        send(bind('p'), bind('p'))
        assert.deepEqual(counts(), [['UNKNOWN', 2, true]])
        send(parse('begin; select email from t', 'q'), bind('q'), bind('q'))
        assert.deepEqual(counts(), [['SELECT', 2, false]])
      })
    },
  )

  clause(
    'GATE-221',
    'An answer of the database takes steps by what it answers, and not by the messages that wait behind…',
    async (t) => {
      const copyIn = message('G', Buffer.alloc(3))
      const ready = message('Z', 'I')
      const copy = query('copy t from stdin')
      const most = 100

      await t.test('CopyInResponse before other messages', (t) => {
        const { send, answer } = open()
        send(times(120, copy), times(10_000, parse('')))
        const repeated = count(() => answer(times(100, copyIn))) / 100
        const failed = count(() => answer(times(100, message('E', '\0'), ready, copyIn))) / 100
        t.diagnostic(`${repeated} steps, ${failed} with error and ReadyForQuery`)
        assert.ok(repeated < most && failed < 2 * most)
      })

      await t.test('CopyInResponse before Syncs, which are passed once', (t) => {
        const { send, answer } = open()
        send(copy, times(10_000, sync))
        const first = count(() => answer(copyIn))
        const again = count(() => answer(times(100, copyIn))) / 100
        t.diagnostic(`${first / 10_000} steps for each Sync, then ${again} for each answer`)
        assert.ok(first < most * 10_000 && again < most)
      })

      await t.test('answers behind CopyDone', (t) => {
        const { send, answer } = open()
        send(times(1_000, message('c')), query('select 1'))
        const steps = count(() => answer(times(100, message('N', '\0')))) / 100
        t.diagnostic(`${steps} steps`)
        assert.ok(steps < most)
      })
    },
  )
})
