import { quoteQualified } from '../db/quote.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import type { Snapshot } from './catalog.ts'
import type { StepGroup } from './diff-by-relation.ts'
import type { DesiredRelation } from './plan.ts'
import type { Holder } from './sessions/holder.ts'

/** Something that could not be done, while everything else was. */
export interface Unfinished {
  readonly target: string
  /** Relations on which a lock may be in the way. */
  readonly oids: readonly number[]
  readonly sqlstate: string
  readonly reason: string
  /** Sessions and prepared transactions that were seen to hold us up. */
  readonly blockers: readonly Holder[]
  /** False: masked values may still be readable there. */
  readonly isClosed: boolean
}

/** Views whose turn to have twins did not come. */
export function describeLate(late: readonly StepGroup[]): Unfinished {
  const [first] = late
  const others = late.length === 1 ? '' : ` and ${late.length - 1} more views`
  return {
    target: `${first?.target?.name}${others}`,
    oids: [],
    sqlstate: sqlstate.programLimitExceeded,
    reason: 'have no twins yet',
    blockers: [],
    isClosed: true,
  }
}

export function describeUnread({ unreadViews }: Snapshot): Unfinished[] {
  const first = unreadViews[0]?.name
  if (first === undefined) return []
  const others = unreadViews.length === 1 ? '' : ` and ${unreadViews.length - 1} more views`
  return [
    {
      target: `${first}${others}`,
      oids: [],
      sqlstate: sqlstate.tooManyColumns,
      reason:
        'too many columns and grants to be read. Masked roles have no twin there, and the owner sees no raw values',
      blockers: [],
      isClosed: true,
    },
  ]
}

export function describeHeld({ relation }: DesiredRelation): Unfinished {
  return {
    target: quoteQualified(relation.schema, relation.name),
    oids: [relation.oid, ...relation.reads],
    sqlstate: sqlstate.lockNotAvailable,
    reason: 'another session holds a lock on it',
    blockers: [],
    isClosed: true,
  }
}
