import type { Capability, ClauseId } from './attack.ts'

type Actor = 'operator' | 'owner' | 'mallory' | 'victim' | 'auditor'
type Verb = 'runs' | 'is denied' | 'sees masks' | 'sees raw values'
type Event = 'meanwhile' | 'mask' | 'mask, nobody exempt' | 'note' | 'holds' | 'bait' | 'twins call nothing'

export type Step =
  | { readonly actor: Actor; readonly verb: Verb; readonly text: string }
  | { readonly actor?: never; readonly verb: Event; readonly text: string }

const actor = (name: Actor) => {
  const as =
    (verb: Verb) =>
    (text: string): Step => ({ actor: name, verb, text })
  return Object.assign(as('runs'), {
    /** Each statement is denied, or what it names is not there. */
    isDenied: as('is denied'),
    /** Each statement shows rows, without a raw value. */
    seesMasks: as('sees masks'),
    seesRawValues: as('sees raw values'),
  })
}
const event =
  (verb: Event) =>
  (text: string): Step => ({ verb, text })

/** The superuser. */
export const operator = actor('operator')
/** Of the tables of hr. */
export const owner = actor('owner')
/** The masked role that attacks. */
export const mallory = actor('mallory')
/** Another masked role. */
export const victim = actor('victim')
/** The exempt role. */
export const auditor = actor('auditor')
/** Done by mallory while the next turn runs, between two of its statements. */
export const meanwhile = event('meanwhile')
/** A turn with these masked columns, each with its function after a colon unless it is `Default`, or none. It runs no code of mallory. */
export const mask = event('mask')
export const maskAll = event('mask, nobody exempt')
/** The turn gave a note of that code about that relation, with these words: `NoTwin hr.both: other objects`. */
export const note = event('note')
/** Each query of the operator is true. */
export const holds = event('holds')
/** Mallory's code runs by that: it would have been noticed. */
export const bait = event('bait')
/** Whoever reads the twins: mallory's code is not called by it. */
export const twinsCallNothing = event('twins call nothing')('')

/**
 * What a role prepares, one or more turns, and what must hold then. `{owner}` and the like are roles, `{database}` is
 * the database, `{keep}` what a query last gave as `keep`. `;;` parts statements, and sessions last as long as the case.
 * `pub.spy(text)` is mallory's: it notes who runs it.
 */
export interface TurnCase {
  readonly id: string
  readonly capability: Capability
  readonly clauses: readonly ClauseId[]
  readonly steps: readonly Step[]
  readonly since: number
}

type Row = readonly Step[] | { readonly since: number; readonly steps: readonly Step[] }

export function turnCases(
  capability: Capability,
  clauses: readonly [ClauseId, ...ClauseId[]],
  rows: Readonly<Record<string, Row>>,
): readonly TurnCase[] {
  return Object.entries(rows).map(([id, row]) => ({
    ...{ id, capability, clauses },
    ...('steps' in row ? row : { steps: row, since: 0 }),
  }))
}
