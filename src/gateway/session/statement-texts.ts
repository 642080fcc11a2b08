import type { Logger } from 'pino'
import { shorten } from '../../sql/shorten.ts'
import { findTemplate, maxTemplateBytes, placeSplices } from '../../sql/template.ts'
import { type StatementEffect, unparsed } from '../audit/touch.ts'
import type { Hiding } from '../rewrite/hide-controller-schemas.ts'
import type { MaskMap } from '../rewrite/mask-map.ts'
import type { Names } from '../rewrite/names.ts'
import { rewriteText } from '../rewrite/rewrite.ts'
import type { NameChanges, RewrittenText, TextAnalysis } from '../rewrite/text-analysis.ts'
import { TextCache } from '../rewrite/text-cache.ts'
import { utf8 } from './client-encoding.ts'
import type { ReadingState } from './ledger/run-counter.ts'
import { MaskNotices } from './mask-notices.ts'
import { NameScope } from './name-scope.ts'
import { isPlain, TextReader } from './text-reader.ts'

export interface StatementTextsOptions {
  readonly masks: () => MaskMap
  readonly role: string
  /** As PostgreSQL calls it. */
  readonly database: string
  /** The parameters that the server reported at login. */
  readonly parameters: ReadonlyMap<string, string>
  /** The server reports changes of the search path, as PostgreSQL does from 18 on. */
  readonly hearsPath?: boolean
  /** Masks may be stored in other tables. */
  readonly allowsCopies?: boolean
  /** The session is told of each relation that it reads masked. */
  readonly tellsMasks?: boolean
  /** Masks are enforced in the database. */
  readonly isEnforced?: boolean
  readonly log: Logger
}

const forbidding = 'restrict_nonsystem_relation_kind'

/** For a session with temporary relations: no other session's names mean the same. */
const maxOwnTexts = 200

const noEffects: readonly StatementEffect[] = []
const nothingMoves: TextAnalysis = {
  splices: [],
  nameChanges: [],
  isParsed: true,
  readsTwin: false,
  masked: [],
  effects: noEffects,
}

/** The texts of one session's statements: what becomes of them under its masks, and what they touch. */
export class StatementTexts {
  readonly #options: StatementTextsOptions
  readonly #reader: TextReader
  readonly #scope: NameScope
  /** Undefined: the session is told nothing. */
  readonly notices: MaskNotices | undefined
  #forbidsViews = false
  /** Analysed texts for these masks and the current meaning of names. */
  #cache: TextCache<TextAnalysis> | undefined
  #cachedFor: MaskMap | undefined
  #effects: readonly StatementEffect[] = noEffects
  #state: ReadingState = { version: 0, path: undefined }

  constructor(options: StatementTextsOptions) {
    this.#options = options
    this.#reader = new TextReader(options.parameters)
    this.#scope = new NameScope(options.parameters.get('search_path') ?? '', this.#reader.isUtf8)
    if (options.tellsMasks) this.notices = new MaskNotices((text) => this.#reader.writeMessage(text))
  }

  /** The server reports a setting. */
  setParameter(name: string, value: string): void {
    this.#reader.setParameter(name, value)
    if (name === 'client_encoding') this.#scope.changeEncoding()
    else if (name === 'search_path') this.#scope.setReportedPath(value, this.#reader.isUtf8)
    else return
    this.#cache = undefined
  }

  /** The server reports a setting by a message that the gateway has not read: of its own settings, only the path is ever so long. */
  missParameter(): void {
    this.#scope.missPath()
  }

  /** No report of the server is pending. */
  settle(): void {
    if (this.#options.hearsPath && this.#scope.settle()) this.#cache = undefined
  }

  /** True when the path is the server's unless a report is pending. */
  get #isPathKnown(): boolean {
    return this.#options.hearsPath === true && this.#scope.isPathCertain
  }

  /** The session has forbidden itself to read views, as pg_dump does. */
  get forbidsViews(): boolean {
    return this.#forbidsViews
  }

  /**
   * GATE-370: PostgreSQL plans a statement before it asks for the right to read, and shows the plan to a session that wants it. The
   * estimates in it come from raw values, and the queries by which it checks foreign keys have the keys in them.
   */
  get hidesPlans(): boolean {
    return this.#options.isEnforced === true && this.#reader.getParameter('is_superuser') !== 'on'
  }

  /** The effects of the last text. */
  get effects(): readonly StatementEffect[] {
    return this.#effects
  }

  /** Of the masks under which texts are read. */
  get version(): number {
    return this.#options.masks().version
  }

  get reading(): string {
    return this.#reader.reading
  }

  readingOf(bytes: Buffer, from: number, to: number): string | undefined {
    return this.#reader.readingOf(bytes, from, to)
  }

  /** The masks and the path of now. Asked for every execution, so it is made once for each change. */
  stateOf(areSettingsKnown: boolean): ReadingState {
    const { version } = this
    const path = areSettingsKnown && this.#isPathKnown ? this.#scope.pathKey : undefined
    const areLettersUnknown = !(areSettingsKnown && this.#reader.isUtf8Alone)
    const { version: before, path: last, areLettersUnknown: were } = this.#state
    if (before !== version || last !== path || were !== areLettersUnknown)
      this.#state = { version, path, areLettersUnknown, isUnmasked: this.#isUnmasked }
    return this.#state
  }

  /** A text went by that was too long to be read. */
  passUnread(): void {
    this.#effects = this.#isUnmasked ? noEffects : unparsed
  }

  get #isUnmasked(): boolean {
    const { isEmpty, isUnknown } = this.#options.masks()
    return isEmpty && !isUnknown
  }

  /**
   * Undefined: the text stays as it is. It stands in `bytes` from `from` to `to`. While the settings are not known, the server
   * may read it differently: then PostgreSQL denies what it must, and the audit says that it was not certain.
   */
  rewrite(bytes: Buffer, from = 0, to = bytes.length, areSettingsKnown = true): RewrittenText | undefined {
    const masks = this.#options.masks()
    const isPathKnown = areSettingsKnown && this.#isPathKnown
    const moved = this.#rewrite(bytes, from, to, masks)
    if (moved) this.notices?.note(moved.analysis.masked)
    const { effects } = this
    if (effects !== unparsed && !isPathKnown && !masks.isEmpty) {
      const isUncertain =
        effects.some(({ dependsOnPath }) => dependsOnPath) || (!areSettingsKnown && !isPlain(bytes, from, to))
      if (isUncertain) this.#effects = [...effects, ...unparsed]
    }
    return moved
  }

  #rewrite(bytes: Buffer, from: number, to: number, masks: MaskMap): RewrittenText | undefined {
    const template = masks.isEmpty || this.#findHiding(masks) ? undefined : findTemplate(bytes, from, to)
    // A longer literal may hold the words that forbid views.
    if (!template || template.longest >= forbidding.length)
      return this.#rewriteWhole(bytes.subarray(from, to), masks)
    if (template.hasLetters && !this.#reader.isUtf8Text(bytes.subarray(from, to)))
      return this.#rewriteWhole(bytes.subarray(from, to), masks)
    const found = this.#cacheOf(masks).getOrFind(template.bytes, template.length, (text) =>
      this.#find(text, masks),
    )
    this.#effects = found?.effects ?? unparsed
    if (!found) return undefined
    // A literal in it may mean a name, or be what it takes to parse it.
    if (template.hasLiterals && (!found.isParsed || found.nameChanges.length > 0))
      return this.#rewriteWhole(bytes.subarray(from, to), masks)
    this.#changeNames(found.nameChanges)
    if (found.splices.length === 0) return undefined
    const placed = template.hasLiterals ? placeSplices(found.splices) : found.splices
    const splices = this.#reader.isUtf8 ? placed : this.#reader.encode(placed)
    // A copy: the next read overwrites the bytes.
    const original = Buffer.from(bytes.subarray(from, to))
    return splices && { original, splices, count: utf8.count, analysis: found, refusal: found.refusal }
  }

  #rewriteWhole(text: Buffer, masks: MaskMap): RewrittenText | undefined {
    if (text.includes(forbidding)) this.#forbidsViews = text.includes("'view, foreign-table'")
    const hiding = this.#findHiding(masks)
    this.passUnread()
    if (masks.isEmpty && !hiding) return undefined
    const read = this.#reader.decode(text)
    if (!read) return undefined
    const found =
      hiding || text.length > maxTemplateBytes
        ? this.#parse(read.string, masks, hiding)
        : this.#find(read.string, masks)
    if (!found) return undefined
    // A name with an unknown letter may be the name of a masked relation.
    const isUncertain = !this.#reader.isUtf8 && read.string.includes('\ufffd')
    this.#effects = isUncertain ? [...found.effects, ...unparsed] : found.effects
    this.#changeNames(found.nameChanges)
    if (found.splices.length === 0) return undefined
    const splices = this.#reader.encode(found.splices)
    if (!splices) return undefined
    const places = read.place(splices.flatMap(({ from, to }) => [from, to]))
    return {
      original: Buffer.from(text),
      splices: splices.map((splice, index) => ({
        from: places[2 * index] ?? 0,
        to: places[2 * index + 1] ?? 0,
        text: splice.text,
      })),
      count: read.count,
      analysis: found,
      refusal: found.refusal,
    }
  }

  /** pg_dump is recognised by its name, or by what it forbids itself where it runs under another name. */
  #findHiding({ hides }: MaskMap): Hiding | undefined {
    if (hides.length === 0) return undefined
    const isDump = this.#forbidsViews || this.#reader.getParameter('application_name') === 'pg_dump'
    return isDump ? { schemas: hides } : undefined
  }

  #changeNames(changes: readonly NameChanges[]): void {
    if (changes.length === 0) return
    for (const change of changes) this.#scope.change(change)
    this.#cache = undefined
  }

  #find(string: string, masks: MaskMap): TextAnalysis | undefined {
    const cache = this.#cacheOf(masks)
    const known = cache.get(string)
    if (known) return known
    const found = this.#parse(string, masks)
    if (found) cache.set(string, found)
    return found
  }

  #cacheOf(masks: MaskMap): TextCache<TextAnalysis> {
    if (!this.#cache || this.#cachedFor !== masks) {
      this.#cachedFor = masks
      const { hidden, pathKey } = this.#scope
      this.#cache = hidden.size > 0 ? new TextCache(maxOwnTexts) : masks.cacheFor(pathKey)
    }
    return this.#cache
  }

  #parse(string: string, masks: MaskMap, hiding?: Hiding): TextAnalysis | undefined {
    if (!hiding && !masks.concerns(string)) return nothingMoves
    const { database, role, log } = this.#options
    const { path, hidden } = this.#scope
    const { allowsCopies } = this.#options
    const names: Names = { masks, database, role, path, hidden, hiding, allowsCopies }
    try {
      const short = string.length > maxTemplateBytes ? shorten(string) : undefined
      const found = short && rewriteText(Buffer.from(short.text), names)
      // A literal in it may mean a name, or be what it takes to parse it.
      if (!short || !found?.isParsed || found.nameChanges.length > 0)
        return rewriteText(Buffer.from(string), names)
      return { ...found, splices: short.place(found.splices) }
    } catch (err) {
      // Forwarded as it is: PostgreSQL then denies what it must. The text is the client's and goes into no log.
      log.error({ err }, 'a statement could not be rewritten')
      return undefined
    }
  }
}
