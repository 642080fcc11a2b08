import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SessionTouches } from '../../../../../src/gateway/audit/session-touches.ts'
import { nothingFound, type StatementEffect, touchOf } from '../../../../../src/gateway/audit/touch.ts'
import { StatementLedger } from '../../../../../src/gateway/session/ledger/statement-ledger.ts'
import { runs } from '../../../../support/runs.ts'

/** What a client sends; every statement that it prepares is another one, told by its number. */
type Step =
  | { readonly kind: 'parse' | 'prepare'; readonly name: string; readonly isBad: boolean }
  | { readonly kind: 'bind' | 'execute' | 'close'; readonly name: string }
  | { readonly kind: 'sync' | 'answer' | 'fail' }

type Message = Step & { readonly id: number; readonly renews?: string | undefined }
type Answer = 'complete' | 'prepared' | 'error' | 'ready'

/** PostgreSQL as far as names of statements go. */
class ModelServer {
  readonly names = new Map<string, string>()
  readonly runs = new Map<string, number>()
  readonly #queue: Message[] = []
  #isSkipping = false

  send(message: Message): void {
    this.#queue.push(message)
  }

  /** Answers to the next message; undefined: there is none. */
  answer(): Answer[] | undefined {
    const message = this.#queue.shift()
    if (!message) return undefined
    if (message.kind === 'sync') {
      this.#isSkipping = false
      return ['ready']
    }
    if (this.#isSkipping) return []
    const isQuery = message.kind === 'execute' || message.kind === 'prepare' || message.kind === 'fail'
    const answers = this.#run(message)
    if (isQuery) this.names.delete('')
    else this.#isSkipping = answers[0] === 'error'
    return isQuery ? [...answers, 'ready'] : answers
  }

  #run(message: Message): Answer[] {
    switch (message.kind) {
      case 'parse':
        if (message.name === '') this.names.delete('')
        return this.#prepare(message.name, message.id, message.isBad) ? ['complete'] : ['error']
      case 'prepare':
        return this.#prepare(message.name, message.id, message.isBad) ? ['prepared'] : ['error']
      case 'close':
        this.names.delete(message.name)
        return ['complete']
      case 'bind':
        if (message.renews !== undefined) assert.equal(this.names.get(message.name), message.renews)
        return this.#count(message.name)
      case 'execute':
        return this.#count(message.name)
      default:
        return ['error']
    }
  }

  #prepare(name: string, id: number, isBad: boolean): boolean {
    if (isBad || this.names.has(name)) return false
    this.names.set(name, `c${id}`)
    return true
  }

  #count(name: string): Answer[] {
    const column = this.names.get(name)
    if (column === undefined) return ['error']
    this.runs.set(column, (this.runs.get(column) ?? 0) + 1)
    return []
  }
}

const reads = (column: string): StatementEffect => ({
  touch: touchOf('SELECT', { ...nothingFound(), raw: new Set([column]) }),
  executes: [],
})
const text = { parse: Buffer.alloc(9), splices: [], reading: undefined }
const state = { version: 1, path: 'public' }

/** Plays the steps against ledger and model. Returns how often each statement was counted, and how often it ran. */
function play(steps: readonly Step[]) {
  const touches = new SessionTouches(() => {})
  const ledger = new StatementLedger(touches)
  const server = new ModelServer()
  const hear = (answer: Answer) => {
    if (answer === 'complete') ledger.hearComplete()
    else if (answer === 'prepared') ledger.hearPrepare()
    else if (answer === 'error') ledger.hearError(Buffer.from('E\0\0\0\x05\0', 'latin1'))
    else ledger.hearReady()
  }
  const find = (name: string) => ledger.find(Buffer.from(`${name}\0`), 0)
  for (const [id, step] of steps.entries()) {
    let renews: string | undefined
    switch (step.kind) {
      case 'parse':
        ledger.sendParse(step.name, [reads(`c${id}`)], state, step.name === '' ? {} : { text })
        break
      case 'prepare':
        ledger.sendQuery([{ ...reads(`c${id}`), prepares: step.name }], state)
        break
      case 'execute':
        ledger.sendQuery([{ executes: [step.name] }], state)
        break
      case 'bind': {
        const statement = find(step.name)
        if (statement && ledger.needsRenewal(statement, 2)) renews = statement.effects[0]?.touch?.raw[0]
        ledger.sendBind(statement, state)
        break
      }
      case 'close':
        ledger.sendClose(find(step.name))
        break
      case 'sync':
        ledger.sendSync()
        break
      case 'fail':
        ledger.sendQuery([], state)
        break
    }
    if (step.kind === 'answer') for (const answer of server.answer() ?? []) hear(answer)
    else server.send({ ...step, id, renews })
  }
  for (let answers = server.answer(); answers; answers = server.answer()) answers.forEach(hear)
  const counted = new Map(touches.take().touches.map(({ raw, count }) => [raw[0] ?? '', count]))
  return { counted, runs: server.runs, names: server.names, find }
}

const name = fc.constantFrom('', 's', 't')
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('parse', 'prepare'), name, isBad: fc.boolean() }),
  fc.record({ kind: fc.constant('parse'), name, isBad: fc.constant(false) }),
  fc.record({ kind: fc.constantFrom('bind', 'execute', 'close'), name }),
  fc.record({ kind: fc.constantFrom('bind', 'close'), name }),
  fc.record({ kind: fc.constantFrom('sync', 'sync', 'answer', 'answer', 'answer', 'fail') }),
) as fc.Arbitrary<Step>
const prepares = ({ kind }: Step) => kind === 'parse' || kind === 'prepare'
const steps = fc.array(step, { maxLength: 60 }).filter((list) => list.filter(prepares).length < 90)

describe('the ledger of statements', () => {
  test('no run is missed, whatever the server refuses and however far answers are behind', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const { counted, runs } = play(list)
        for (const [column, count] of runs)
          assert.ok((counted.get(column) ?? 0) >= count, `${column} ran ${count} times`)
      }),
      { numRuns: runs(2_000) },
    )
  })

  test('runs are counted exactly where each message waits for its answer', () => {
    const answered = steps.map((list) =>
      list.flatMap((one): Step[] => {
        // The server drops the unnamed statement by itself; what it then refuses to run is counted all the same.
        if (one.kind === 'answer' || ('name' in one && one.name === '')) return []
        const isQuery = one.kind === 'prepare' || one.kind === 'execute' || one.kind === 'fail'
        return isQuery || one.kind === 'sync'
          ? [one, { kind: 'answer' }]
          : [one, { kind: 'answer' }, { kind: 'sync' }, { kind: 'answer' }]
      }),
    )
    fc.assert(
      fc.property(answered, (list) => {
        const { counted, runs, names, find } = play(list)
        // Preparing counts once, and the first run is that one.
        for (const [column, count] of counted) assert.equal(count, Math.max(1, runs.get(column) ?? 0), column)
        for (const [held, column] of names) assert.equal(find(held)?.effects[0]?.touch?.raw[0], column)
      }),
      { numRuns: runs(1_000) },
    )
  })
})
