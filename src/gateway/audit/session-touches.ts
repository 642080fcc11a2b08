import { PreparedNames } from './prepared-names.ts'
import { type StatementEffect, type Touch, type Touched, unparsed } from './touch.ts'

/** A search path that is like no other: it is not certain which one the server has. */
const unknown = ''

interface Prepared {
  readonly effects: readonly StatementEffect[]
  /** Of the masks under which it was looked at. */
  readonly version: number
  /** By another path than this it touches something else; undefined: it does not depend on that. */
  readonly path?: string | undefined
  /** It was counted when it was prepared: its first run is not counted again. */
  isFresh: boolean
}

/** Different things that a session touches between two entries of the audit. */
const maxDifferent = 100
/** Statements beyond are counted when they are prepared, and not again. */
const maxPrepared = 2_000
const maxReported = 1_000

/** What the statements of one session touched, until it is written down. */
export class SessionTouches {
  readonly #onFirst: () => void
  readonly #prepared = new PreparedNames<Prepared>()
  readonly #reported = new Set<string>()
  #counts = new Map<string, { touch: Touch; count: number }>()
  #leftOut = 0
  #hasNew = false
  #version = 0
  #path: string = unknown
  /** Whatever was prepared under these masks and touches nothing. */
  #clean: Prepared = { effects: [], version: 0, isFresh: false }
  /** How many statements ran. */
  statements = 0

  /** `onFirst`: there is something to write down. */
  constructor(onFirst: () => void) {
    this.#onFirst = onFirst
  }

  /** Something that this session has not been seen to touch yet. */
  get hasNew(): boolean {
    return this.#hasNew
  }

  query(effects: readonly StatementEffect[], version: number, path?: string): void {
    this.statements++
    this.#version = version
    this.#path = path ?? unknown
    if (effects.length > 0) this.#run(effects)
  }

  /** A statement that is sent to be run later; what it touches is written down even if that is never seen to happen. */
  parse(name: string, effects: readonly StatementEffect[], version: number, path?: string): void {
    this.#version = version
    this.#path = path ?? unknown
    this.#run(effects)
    this.#keep(name, effects, this.#path)
  }

  /** A Bind message, from its first byte behind the length. Runs for every execution: it reads two names, if that. */
  bind(bytes: Buffer, from: number, version: number, path?: string): void {
    this.statements++
    this.#version = version
    this.#path = path ?? unknown
    let at = from
    while (at < bytes.length && bytes[at] !== 0) at++
    const prepared = this.#prepared.find(bytes, at + 1)
    if (!prepared) return
    if (this.#isStale(prepared, this.#path)) this.#countUnknown()
    if (prepared.isFresh) prepared.isFresh = false
    else if (prepared.effects.length > 0) this.#run(prepared.effects)
  }

  take(): Touched {
    const touches = [...this.#counts.values()].map(({ touch: { key: _, ...rest }, count }) => ({
      ...rest,
      count,
    }))
    if (this.#reported.size + this.#counts.size > maxReported) this.#reported.clear()
    for (const key of this.#counts.keys()) this.#reported.add(key)
    const leftOut = this.#leftOut
    this.#counts = new Map()
    this.#leftOut = 0
    this.#hasNew = false
    return { touches, leftOut }
  }

  #run(effects: readonly StatementEffect[]): void {
    for (const { touch, prepares, executes, dependsOnPath, isPathUnknown } of effects) {
      const path = isPathUnknown ? unknown : this.#path
      if (touch) this.#count(touch)
      if (prepares !== undefined)
        this.#keep(
          toLatin1(prepares),
          touch || dependsOnPath ? [{ touch, executes: [], dependsOnPath }] : [],
          path,
        )
      for (const name of executes) this.#execute(toLatin1(name), path)
    }
  }

  #execute(name: string, path: string): void {
    const prepared = this.#prepared.get(name)
    if (!prepared) return
    if (this.#isStale(prepared, path)) this.#countUnknown()
    if (prepared.isFresh) prepared.isFresh = false
    else for (const { touch } of prepared.effects) if (touch) this.#count(touch)
  }

  #keep(name: string, effects: readonly StatementEffect[], path: string): void {
    if (name !== '' && this.#prepared.size >= maxPrepared && !this.#prepared.get(name)) return
    if (effects.length === 0) this.#prepared.set(name, this.#findClean())
    else {
      const dependsOnPath = effects.some((effect) => effect.dependsOnPath) && !effects.some(isUnknown)
      const own = dependsOnPath ? { path } : {}
      this.#prepared.set(name, { effects, version: this.#version, isFresh: true, ...own })
    }
  }

  /** Masks or the search path have changed since it was looked at: it may read what was not meant then. */
  #isStale(prepared: Prepared, path: string): boolean {
    if (prepared.version !== this.#version) return true
    return prepared.path !== undefined && (path === unknown || prepared.path !== path)
  }

  #findClean(): Prepared {
    if (this.#clean.version !== this.#version)
      this.#clean = { effects: [], version: this.#version, isFresh: false }
    return this.#clean
  }

  #countUnknown(): void {
    for (const { touch } of unparsed) if (touch) this.#count(touch)
  }

  #count(touch: Touch): void {
    const known = this.#counts.get(touch.key)
    if (known) {
      known.count++
      return
    }
    if (this.#counts.size >= maxDifferent) {
      this.#leftOut++
      return
    }
    if (this.#counts.size === 0) this.#onFirst()
    this.#counts.set(touch.key, { touch, count: 1 })
    this.#hasNew ||= !this.#reported.has(touch.key)
  }
}

function isUnknown(effect: StatementEffect): boolean {
  return unparsed.includes(effect)
}

/** Names come as letters from the parser and as bytes from the wire. */
function toLatin1(name: string): string {
  return Buffer.from(name).toString('latin1')
}
