import { isAscii } from '../../../sql/search-path.ts'
import type { Splice } from '../../../sql/splice.ts'
import { type StatementEffect, unparsed } from '../../audit/touch.ts'

/** The client's Parse message, from which the gateway can prepare the statement again. */
export interface PreparedText {
  readonly parse: Buffer
  /** The replacements in the text that the server was sent. */
  readonly splices: readonly Splice[]
  /** Stands for the settings by which its bytes are read; undefined: every setting reads them alike. */
  readonly reading: string | undefined
}

export interface StatementFacts {
  /** Each byte as a letter. */
  readonly name: string
  readonly effects: readonly StatementEffect[]
  /** Of the masks under which the text was read. */
  readonly version: number
  /** The search path under which it was read. */
  readonly path: string
  /** Undefined: the gateway cannot prepare it again. */
  readonly text?: PreparedText | undefined
}

/** PostgreSQL ignores the rest of a name. */
export const maxNameBytes = 63
/** Bookkeeping bytes of one statement beside its own. */
const entryBytes = 300
export const neverRenewed = -1

/** A statement that the server has, or may have, under a name. */
export class PreparedStatement {
  readonly name: string
  /** Its name has letters beyond ASCII. */
  readonly hasLetters: boolean
  text: PreparedText | undefined
  effects: readonly StatementEffect[]
  version: number
  /** Under another search path it touches something else; undefined: it does not depend on the path. */
  path: string | undefined
  /** sent: not answered yet; held: the server has it; gone: the server refused or closed it. */
  state: 'sent' | 'held' | 'gone' = 'sent'
  /** The stretch between two Syncs or queries in which it was sent. */
  readonly segment: number
  /** The statement that the name means if the server refuses this one. */
  previous: PreparedStatement | undefined
  /** How many statements of the chain before it have no answer of their own to wait for. */
  unanswerable = 0
  /** The client has sent its Close, which the server has not answered yet. */
  isClosing = false
  /** Renewals that the server has not answered yet. */
  renewals = 0
  /** The segment of the last renewal, while the server may not have taken it. */
  renewedIn = neverRenewed

  constructor(facts: StatementFacts, segment: number) {
    const { name, effects, version, path, text } = facts
    this.name = name
    this.hasLetters = !isAscii(name)
    this.segment = segment
    this.text = text
    this.effects = effectsOfOne(effects)
    this.version = version
    this.path = dependsOnPath(this.effects) ? path : undefined
  }

  get textBytes(): number {
    return this.text ? this.text.parse.length + entryBytes : 0
  }

  /** Of the touches in its effects: their lists and their keys. */
  get touchBytes(): number {
    let bytes = 0
    for (const effect of this.effects)
      if (!isUnparsed(effect))
        bytes += 2 * ((effect.touch?.key.length ?? 0) + (effect.onError?.key.length ?? 0))
    return bytes
  }

  /** Its further runs may touch anything. */
  forgetTouches(): void {
    if (this.touchBytes === 0) return
    this.effects = unparsed
    this.path = undefined
  }

  /** The gateway has read its text again, under other masks. */
  readAgain({ effects, version, path }: Omit<StatementFacts, 'name'>): void {
    this.effects = effectsOfOne(effects)
    this.version = version
    this.path = dependsOnPath(this.effects) ? path : undefined
  }
}

/**
 * A statement by a name that the ledger does not hold, or has not read as the server has: it was read under no masks, and may touch
 * anything.
 */
export const nameless = new PreparedStatement({ name: '', effects: [], version: -1, path: '' }, -1)

/**
 * The effects of a text that PostgreSQL can run under a name. It refuses several statements in one Parse, and EXECUTE in the
 * body of a function: such a text may do anything, so that its runs need not go through all of its effects.
 */
function effectsOfOne(effects: readonly StatementEffect[]): readonly StatementEffect[] {
  let statements = 0
  for (const effect of effects) {
    if (!isUnparsed(effect)) statements++
    if (statements > 1 || effect.executes.length > 1) return unparsed
  }
  return effects
}

function dependsOnPath(effects: readonly StatementEffect[]): boolean {
  for (const effect of effects) if (effect.dependsOnPath) return !effects.some(isUnparsed)
  return false
}

function isUnparsed(effect: StatementEffect): boolean {
  return unparsed.includes(effect)
}
