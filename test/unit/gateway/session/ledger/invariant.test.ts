import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SessionTouches } from '../../../../../src/gateway/audit/session-touches.ts'
import { nothingFound, type StatementEffect, touchOf } from '../../../../../src/gateway/audit/touch.ts'
import { StatementLedger } from '../../../../../src/gateway/session/ledger/statement-ledger.ts'
import { writeFields } from '../../../../../src/wire/messages.ts'
import { runs } from '../../../../support/runs.ts'

/** Of every run of a statement: whether it is denied, fails with or without rows before, or shows none. */
const fates = ['shows', 'is empty', 'is denied', 'fails', 'shows and fails'] as const
type Fate = (typeof fates)[number]

/** What a client sends; every statement that it prepares has its own number. A Bind comes with its Execute. */
type Step =
  | {
      readonly kind: 'parse' | 'prepare'
      readonly name: string
      readonly isBad: boolean
      readonly fate: Fate
    }
  | { readonly kind: 'bind' | 'execute' | 'close'; readonly name: string }
  | { readonly kind: 'sync' | 'answer' | 'fail' }

type Message = Step & { readonly id: number; readonly renews?: string | undefined }
type Answer = 'complete' | 'prepared' | 'bound' | 'shown' | 'done' | 'ready' | `error ${string}`
type Counts = Map<string, number>

const denied = 'error 42501'
const cancelled = 'error 57014'
const duplicate = 'error 42P05'

/** PostgreSQL as far as names of statements and their runs go. */
class ModelServer {
  readonly names = new Map<string, { readonly column: string; readonly fate: Fate }>()
  readonly reads: Counts = new Map()
  readonly denials: Counts = new Map()
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
    else this.#isSkipping = answers.some((answer) => answer.startsWith('error'))
    return isQuery ? [...answers, 'ready'] : answers
  }

  #run(message: Message): Answer[] {
    switch (message.kind) {
      case 'parse':
        if (message.name === '') this.names.delete('')
        return this.#prepare(message) ? ['complete'] : [duplicate]
      case 'prepare':
        return this.#prepare(message) ? ['prepared', 'done'] : [duplicate]
      case 'close':
        this.names.delete(message.name)
        return ['complete']
      case 'bind':
        if (message.renews !== undefined) assert.equal(this.names.get(message.name)?.column, message.renews)
        return this.#execute(message.name, ['bound'])
      case 'execute':
        return this.#execute(message.name, [])
      default:
        return [cancelled]
    }
  }

  #prepare({ name, id, isBad, fate }: Message & { kind: 'parse' | 'prepare' }): boolean {
    if (isBad || this.names.has(name)) return false
    this.names.set(name, { column: `c${id}`, fate })
    return true
  }

  #execute(name: string, before: Answer[]): Answer[] {
    const statement = this.names.get(name)
    if (!statement) return ['error 26000']
    const { column, fate } = statement
    if (fate === 'is denied') increase(this.denials, column)
    else if (fate !== 'fails') increase(this.reads, column)
    if (fate === 'is denied') return [denied]
    const shown: Answer[] = fate.startsWith('shows') ? ['shown', 'shown'] : []
    return [...before, ...shown, fate.endsWith('fails') ? cancelled : 'done']
  }
}

function increase(counts: Counts, column: string): void {
  counts.set(column, (counts.get(column) ?? 0) + 1)
}

const reads = (column: string): StatementEffect => ({
  touch: touchOf('SELECT', { ...nothingFound(), raw: new Set([column]) }),
  executes: [],
})
const text = { parse: Buffer.alloc(9), splices: [], reading: undefined }
const state = { version: 1, path: 'public' }

/** Plays the steps against ledger and model. Returns what was counted, and what became of the runs. */
function play(steps: readonly Step[]) {
  const touches = new SessionTouches(() => {})
  const ledger = new StatementLedger(touches)
  const server = new ModelServer()
  const hear = (answer: Answer) => {
    if (answer === 'complete') ledger.hearComplete()
    else if (answer === 'prepared') ledger.hearPrepare()
    else if (answer === 'bound') ledger.hearBound()
    else if (answer === 'shown') ledger.hearShown()
    else if (answer === 'done') ledger.hearDone()
    else if (answer === 'ready') ledger.hearReady()
    else ledger.hearError(writeFields('E', [['C', answer.replace('error ', '')]]))
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
        ledger.sendExecute()
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
  ledger.end()
  const found = touches.take().touches
  const countsOf = (how: 'raw' | 'denied') =>
    new Map(found.flatMap((touch) => touch[how].map((column) => [column, touch.count] as const)))
  return { counted: countsOf('raw'), refused: countsOf('denied'), server, find }
}

const name = fc.constantFrom('', 's', 't')
const fate = fc.constantFrom(...fates)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('parse', 'prepare'), name, isBad: fc.boolean(), fate }),
  fc.record({ kind: fc.constant('parse'), name, isBad: fc.constant(false), fate }),
  fc.record({ kind: fc.constantFrom('bind', 'execute', 'close'), name }),
  fc.record({ kind: fc.constantFrom('bind', 'close'), name }),
  fc.record({ kind: fc.constantFrom('sync', 'sync', 'answer', 'answer', 'answer', 'fail') }),
) as fc.Arbitrary<Step>
const prepares = ({ kind }: Step) => kind === 'parse' || kind === 'prepare'
const steps = fc.array(step, { maxLength: 60 }).filter((list) => list.filter(prepares).length < 90)

describe('the ledger of statements', () => {
  test('no read is missed, whatever the server refuses and however far answers are behind', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const { counted, server } = play(list)
        for (const [column, count] of server.reads)
          assert.ok((counted.get(column) ?? 0) >= count, `${column} was read ${count} times`)
      }),
      { numRuns: runs(2_000) },
    )
  })

  test('reads and denials are counted exactly where each message waits for its answer', () => {
    const answered = steps.map((list) =>
      list.flatMap((one): Step[] => {
        // The server drops the unnamed statement by itself.
        if (one.kind === 'answer' || ('name' in one && one.name === '')) return []
        const isQuery = one.kind === 'prepare' || one.kind === 'execute' || one.kind === 'fail'
        return isQuery || one.kind === 'sync'
          ? [one, { kind: 'answer' }]
          : [one, { kind: 'answer' }, { kind: 'sync' }, { kind: 'answer' }]
      }),
    )
    fc.assert(
      fc.property(answered, (list) => {
        const { counted, refused, server, find } = play(list)
        assert.deepEqual(counted, server.reads)
        assert.deepEqual(refused, server.denials)
        for (const [held, { column }] of server.names)
          assert.equal(find(held)?.effects[0]?.touch?.raw[0], column)
      }),
      { numRuns: runs(1_000) },
    )
  })

  test('and in pipelines that end with a Sync', () => {
    const pipelined = fc
      .array(fc.tuple(fate, fc.array(fc.constantFrom<'bind' | 'sync'>('bind', 'bind', 'sync'))), {
        maxLength: 6,
      })
      .map((groups) =>
        groups.flatMap(([fate, uses], at): Step[] => [
          { kind: 'parse', name: `n${at}`, isBad: false, fate },
          { kind: 'sync' },
          ...Array<Step>(2).fill({ kind: 'answer' }),
          ...uses.map((kind): Step => (kind === 'bind' ? { kind, name: `n${at}` } : { kind })),
          { kind: 'sync' },
        ]),
      )
    fc.assert(
      fc.property(pipelined, (list) => {
        const { counted, refused, server } = play(list)
        assert.deepEqual(counted, server.reads)
        assert.deepEqual(refused, server.denials)
      }),
      { numRuns: runs(1_000) },
    )
  })
})
