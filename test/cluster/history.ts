import { type Answer, findWrongAnswers, type LogEntry, type Write } from '../support/membership-history.ts'

/** What clients saw, and what the store holds in the end. */
export interface History {
  readonly writes: readonly Write[]
  readonly answers: readonly Answer[]
  /** Ids of rows whose transaction the gateway acknowledged. */
  readonly notes: readonly number[]
  /** Values that masked roles read of masked columns. */
  readonly seen: ReadonlyMap<string, number>
  readonly unclean: ReadonlyMap<string, number>
}

export interface FinalState {
  readonly log: readonly LogEntry[]
  readonly notes: ReadonlySet<number>
}

export interface Verdict {
  readonly lost: number
  readonly stale: readonly string[]
  readonly raw: readonly string[]
  readonly unclean: readonly string[]
}

const masked = /^(aXXX@XXXX\.com|XXXX|5XX)$/

export function judge(
  { writes, answers, notes, seen, unclean }: History,
  { log, notes: kept }: FinalState,
): Verdict {
  const wrong = findWrongAnswers(log, writes, answers)
  const lostNotes = notes.filter((id) => !kept.has(id)).length
  return {
    lost: wrong.filter((line) => line === 'a write was lost').length + lostNotes,
    stale: wrong.filter((line) => line !== 'a write was lost'),
    raw: [...seen.keys()].filter((value) => !masked.test(value)),
    unclean: [...unclean].map(([what, count]) => `${what} (${count} times)`),
  }
}

export function isGood({ lost, stale, raw, unclean }: Verdict): boolean {
  return lost + stale.length + raw.length + unclean.length === 0
}

/** Histories that are each wrong in one way. The names of those that the judge takes for good: none, or it is blind. */
export function findMissedMutations(history: History, state: FinalState): string[] {
  const { writes, answers, notes, seen } = history
  const acknowledged = new Set(writes.map(({ kind, container, member }) => `${kind} ${container} ${member}`))
  const isAcknowledged = ({ kind, container, member }: LogEntry) =>
    acknowledged.has(`${kind} ${container} ${member}`)
  const lostAt = state.log.findIndex(isAcknowledged)
  const last = answers.toSorted((a, b) => b.startedAt - a.startedAt)[0] as Answer
  const early = { ...last, revision: Math.min(...answers.map(({ revision }) => revision)) - 1 }
  const wrongIds = { ...last, ids: [...last.ids, 'a group that it is not in'] }
  const mutations: Record<string, [History, FinalState]> = {
    'a write of the directory is lost': [
      history,
      { ...state, log: state.log.filter((_entry, at) => at !== lostAt) },
    ],
    'a transaction of the gateway is lost': [
      history,
      { ...state, notes: new Set([...state.notes].filter((id) => id !== notes[0])) },
    ],
    'an answer is of an old revision': [{ ...history, answers: [...answers, early] }, state],
    'an answer has a group too many': [{ ...history, answers: [...answers, wrongIds] }, state],
    'a masked role sees a raw value': [
      { ...history, seen: new Map([...seen, ['ann@example.com', 1]]) },
      state,
    ],
    'an error is not clean': [{ ...history, unclean: new Map([['500', 1]]) }, state],
  }
  return Object.entries(mutations).flatMap(([name, [mutated, end]]) =>
    isGood(judge(mutated, end)) ? [name] : [],
  )
}
