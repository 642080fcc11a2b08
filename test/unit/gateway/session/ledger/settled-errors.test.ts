import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SessionTouches } from '../../../../../src/gateway/audit/session-touches.ts'
import { nothingFound, touchOf } from '../../../../../src/gateway/audit/touch.ts'
import { StatementLedger } from '../../../../../src/gateway/session/ledger/statement-ledger.ts'
import { runs } from '../../../../support/runs.ts'

/**
 * `query` and `execute`, by message, write, and fail or copy rows in; `data` is data of a COPY that the server refuses; `answer` lets the
 * server go on by a message.
 */
type Step = 'data' | 'end' | 'sync' | 'answer' | `${'query' | 'execute'} ${'runs' | 'fails' | 'copies'}`
type Answer = 'complete' | 'bound' | 'done' | 'copyIn' | 'error' | 'ready'

/** PostgreSQL as far as errors, Sync and COPY go. */
class ModelServer {
  readonly failed: number[] = []
  readonly done: number[] = []
  readonly #queue: { readonly step: Step; readonly id: number }[] = []
  #isSkipping = false
  #copy: { readonly id: number; readonly isQuery: boolean } | undefined

  send(step: Step, id: number): void {
    this.#queue.push({ step, id })
  }

  /** Answers to the next message; undefined: there is none. */
  answer(): Answer[] | undefined {
    const message = this.#queue.shift()
    if (!message) return undefined
    const { step, id } = message
    if (this.#copy) return this.#goOn(step, this.#copy)
    if (step === 'sync') this.#isSkipping = false
    if (step === 'sync') return ['ready']
    if (this.#isSkipping || step === 'data' || step === 'end') return []
    const isQuery = step.startsWith('query')
    const before: Answer[] = isQuery ? [] : ['complete', 'bound']
    if (step.endsWith('fails')) return [...before, ...this.#fail(id, isQuery)]
    if (!step.endsWith('copies')) return [...before, ...this.#end(id, isQuery)]
    this.#copy = { id, isQuery }
    return [...before, 'copyIn']
  }

  #goOn(step: Step, copy: { readonly id: number; readonly isQuery: boolean }): Answer[] {
    if (step === 'sync') return []
    this.#copy = undefined
    if (step !== 'end') return this.#fail(copy.id, copy.isQuery)
    return this.#end(copy.id, copy.isQuery)
  }

  #end(id: number, isQuery: boolean): Answer[] {
    this.done.push(id)
    return isQuery ? ['done', 'ready'] : ['done']
  }

  #fail(id: number, isQuery: boolean): Answer[] {
    this.failed.push(id)
    this.#isSkipping = !isQuery
    return isQuery ? ['error', 'ready'] : ['error']
  }
}

const state = { version: 1, path: 'public' }

/** Returns the statements whose errors and reads were counted, and those that failed and that were done. */
function play(steps: readonly Step[]) {
  const touches = new SessionTouches(() => {})
  const ledger = new StatementLedger(touches)
  const server = new ModelServer()
  const hear = (answer: Answer) => {
    if (answer === 'complete') ledger.hearComplete()
    else if (answer === 'bound') ledger.hearBound()
    else if (answer === 'done') ledger.hearDone()
    else if (answer === 'copyIn') ledger.hearCopyIn()
    else if (answer === 'error') ledger.missError()
    else ledger.hearReady(true)
  }
  for (const [id, step] of steps.entries()) {
    const onError = touchOf('UPDATE', { ...nothingFound(), raw: new Set([`${id}`]) })
    const touch = touchOf('UPDATE', { ...nothingFound(), masked: new Set([`${id}`]) })
    const effects = [{ touch, onError, executes: [] }]
    if (step === 'answer') {
      server.answer()?.forEach(hear)
      continue
    }
    if (step === 'sync') ledger.sendSync()
    else if (step === 'end') ledger.sendCopyEnd()
    else if (step.startsWith('query')) ledger.sendQuery(effects, state)
    else if (step !== 'data') {
      ledger.sendParse('', effects, state)
      ledger.sendBind(ledger.find(Buffer.from('\0'), 0), state)
      ledger.sendExecute()
    }
    server.send(step, id)
  }
  for (let answers = server.answer(); answers; answers = server.answer()) answers.forEach(hear)
  ledger.end()
  const found = touches.take().touches
  const counted = new Set(found.flatMap(({ raw }) => raw.map(Number)))
  const read = new Set(found.flatMap(({ masked }) => masked.map(Number)))
  return { counted, failed: new Set(server.failed), read, done: new Set(server.done) }
}

const writes = ['query', 'execute'].flatMap((how) =>
  ['runs', 'fails', 'copies'].map((what) => `${how} ${what}` as Step),
)
const step = fc.constantFrom<Step>(...writes, 'data', 'end', 'sync', 'sync', 'answer', 'answer', 'answer')

/** The last query is sent when the error of the COPY was heard, and the answer to the Sync was not. */
const attacks: Step[][] = [
  ['query copies', 'data', 'sync', 'answer', 'answer', 'query fails', 'answer', 'answer'],
  ['execute copies', 'data', 'sync', 'sync', 'answer', 'answer', 'query fails', 'answer', 'answer', 'answer'],
  ['execute copies', 'execute runs', 'sync', 'answer', 'answer', 'query fails', 'answer', 'answer'],
  // Ends of COPYs beyond those that the gateway holds.
  [...Array<Step>(1_000).fill('end'), 'query copies', 'end', 'sync', 'query fails'],
]

describe('errors of transactions that are over', () => {
  test('no error and no read is missed, whatever the server skips or ignores', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { counted, failed, read, done } = play(steps)
        for (const id of failed) assert.ok(counted.has(id), `${steps[id]} at ${id} failed`)
        for (const id of done) assert.ok(read.has(id), `${steps[id]} at ${id} ran`)
      }),
      { numRuns: runs(10_000) },
    )
  })

  test('nor behind a Sync that the server reads after its COPY failed', () => {
    for (const steps of attacks) {
      const { counted, failed, read, done } = play(steps)
      for (const id of failed) assert.ok(counted.has(id), `${steps.slice(-10)}`)
      for (const id of done) assert.ok(read.has(id), `${steps.slice(-10)}`)
    }
  })

  const cases: Record<string, Step[]> = {
    'each message waits for its answer': ['query runs', 'answer', 'query fails', 'answer'],
    'the session always has something under way': [
      'query runs',
      'query runs',
      'answer',
      'query fails',
      'answer',
    ],
    'messages, always with something under way': [
      ...(['execute runs', 'sync', 'execute runs', 'sync', 'answer', 'answer'] as const),
      ...(['execute fails', 'answer', 'answer', 'sync', 'answer', 'answer'] as const),
    ],
    'a query behind messages without a Sync': [
      ...(['execute runs', 'query runs', 'sync', 'answer', 'answer', 'answer'] as const),
      ...(['query fails', 'answer'] as const),
    ],
    'after a COPY by messages': [
      ...(['execute copies', 'sync', 'answer', 'answer', 'end', 'sync', 'answer', 'answer'] as const),
      ...(['query runs', 'answer', 'query fails', 'answer'] as const),
    ],
    'after a COPY by messages that was sent in one piece': [
      ...(['execute copies', 'sync', 'end', 'sync', 'answer', 'answer', 'answer', 'answer'] as const),
      ...(['query runs', 'answer', 'query fails', 'answer'] as const),
    ],
  }
  for (const [name, steps] of Object.entries(cases))
    test(`no other statement counts: ${name}`, () => {
      const { counted, failed } = play(steps)
      const late = name.includes('always') ? [1, 2] : []
      assert.deepEqual(
        [...counted].filter((id) => !late.includes(id)),
        [...failed],
      )
    })
})
