import { isUtf8 } from 'node:buffer'
import type { Logger } from 'pino'
import { maskEscapes } from '../../sql/mask-escapes.ts'
import { readSearchPath } from '../../sql/search-path.ts'
import { shorten } from '../../sql/shorten.ts'
import type { Rewritten, Splice } from '../../sql/splice.ts'
import { findTemplate, maxTemplateBytes, placeSplices } from '../../sql/template.ts'
import { type StatementEffect, unparsed } from '../audit/touch.ts'
import type { Names } from '../rewrite/find-moves.ts'
import type { Hiding } from '../rewrite/hide-controller-schemas.ts'
import type { MaskMap } from '../rewrite/mask-map.ts'
import { rewriteText } from '../rewrite/rewrite.ts'
import type { NameChanges, TextAnalysis } from '../rewrite/text-analysis.ts'
import { TextCache } from '../rewrite/text-cache.ts'
import { type ClientEncoding, type ClientText, findEncoding, utf8 } from './client-encoding.ts'

export interface SessionTextsOptions {
  readonly masks: () => MaskMap
  readonly role: string
  /** As PostgreSQL calls it. */
  readonly database: string
  /** What the server reported at login. */
  readonly parameters: ReadonlyMap<string, string>
  /** The server says when the search path changes, as PostgreSQL does from 18 on. */
  readonly hearsPath?: boolean
  readonly log: Logger
}

export interface Moved extends Rewritten {
  /** What was found about the text, or about all texts that differ from it in their literals alone. */
  readonly analysis: TextAnalysis
}

const forbidding = 'restrict_nonsystem_relation_kind'

/** Of a session that has temporary relations: its names mean what they mean to nobody else. */
const maxOwnTexts = 200

const noEffects: readonly StatementEffect[] = []
const nothingMoves: TextAnalysis = {
  splices: [],
  nameChanges: [],
  isParsed: true,
  readsTwin: false,
  effects: noEffects,
}

/** The statements of one session: what their names mean there, and what becomes of them. */
export class SessionTexts {
  readonly #options: SessionTextsOptions
  readonly #parameters: Map<string, string>
  readonly #initialPath: readonly string[]
  readonly #hidden = new Set<string>()
  #path: readonly string[]
  #encoding: ClientEncoding | undefined
  #forbidsViews = false
  /** What is known of texts for these masks, this path and what is hidden. */
  #cache: TextCache<TextAnalysis> | undefined
  #cachedFor: MaskMap | undefined
  #effects: readonly StatementEffect[] = noEffects
  #pathKey: string

  constructor(options: SessionTextsOptions) {
    this.#options = options
    this.#parameters = new Map(options.parameters)
    this.#initialPath = readSearchPath(options.parameters.get('search_path') ?? '', options.role)
    this.#path = this.#initialPath
    this.#pathKey = JSON.stringify(this.#path)
    this.#encoding = this.#findEncoding()
  }

  /** The server says what is; what we made of the client's own statements was a guess until then. */
  setParameter(name: string, value: string): void {
    this.#parameters.set(name, value)
    if (name === 'search_path') this.#setPath(readSearchPath(value, this.#options.role))
    if (name === 'client_encoding') this.#encoding = this.#findEncoding()
  }

  /** The session has forbidden itself to read views, as pg_dump does. */
  get forbidsViews(): boolean {
    return this.#forbidsViews
  }

  /** What the last text touches. */
  get effects(): readonly StatementEffect[] {
    return this.#effects
  }

  /** Of the masks under which texts are looked at. */
  get version(): number {
    return this.#options.masks().version
  }

  /** Stands for the search path under which texts are looked at. */
  get path(): string {
    return this.#pathKey
  }

  /** Stands for the settings that say how bytes of a text are read; undefined: this one means the same by all of them. */
  readingOf(bytes: Buffer, from: number, to: number): string | undefined {
    return isPlain(bytes, from, to) ? undefined : this.reading
  }

  get reading(): string {
    return `${this.#parameters.get('client_encoding')} ${this.#parameters.get('standard_conforming_strings')}`
  }

  /** A text went by that was too long to be looked at. */
  passUnseen(): void {
    const masks = this.#options.masks()
    this.#effects = masks.isEmpty && !masks.isUnknown ? noEffects : unparsed
  }

  /**
   * Undefined: the text stays as it is. It stands in `bytes` from `from` to `to`. While the settings are not settled it may
   * mean something else than is read here, and then PostgreSQL denies what it must; in the audit it says so.
   */
  rewrite(bytes: Buffer, from = 0, to = bytes.length, isSettled = true): Moved | undefined {
    const masks = this.#options.masks()
    const moved = this.#rewrite(bytes, from, to, masks)
    const { effects } = this
    if (effects !== unparsed && (!isSettled || !this.#options.hearsPath) && !masks.isEmpty) {
      const isUncertain =
        effects.some(({ dependsOnPath }) => dependsOnPath) || (!isSettled && !isPlain(bytes, from, to))
      if (isUncertain) this.#effects = [...effects, ...unparsed]
    }
    return moved
  }

  #rewrite(bytes: Buffer, from: number, to: number, masks: MaskMap): Moved | undefined {
    const template = masks.isEmpty || this.#findHiding(masks) ? undefined : findTemplate(bytes, from, to)
    // What is longer may hold the words that forbid views.
    if (!template || template.longest >= forbidding.length)
      return this.#rewriteWhole(bytes.subarray(from, to), masks)
    if (template.hasLetters && !(this.#encoding === utf8 && isUtf8(bytes.subarray(from, to))))
      return this.#rewriteWhole(bytes.subarray(from, to), masks)
    const found = this.#cacheOf(masks).getOrFind(template.bytes, template.length, (text) =>
      this.#find(text, masks),
    )
    this.#effects = found?.effects ?? unparsed
    if (!found) return undefined
    // A literal in it may mean a name, or be what it takes to parse it.
    if (template.hasLiterals && (!found.isParsed || found.nameChanges.length > 0))
      return this.#rewriteWhole(bytes.subarray(from, to), masks)
    for (const nameChanges of found.nameChanges) this.#changeNames(nameChanges)
    if (found.splices.length === 0) return undefined
    const placed = template.hasLiterals ? placeSplices(found.splices) : found.splices
    const splices = this.#encoding === utf8 ? placed : this.#write(placed)
    // A copy: what comes next is read over it.
    const original = Buffer.from(bytes.subarray(from, to))
    return splices && { original, splices, count: utf8.count, analysis: found }
  }

  #rewriteWhole(text: Buffer, masks: MaskMap): Moved | undefined {
    if (text.includes(forbidding)) this.#forbidsViews = text.includes("'view, foreign-table'")
    const hiding = this.#findHiding(masks)
    this.passUnseen()
    if (masks.isEmpty && !hiding) return undefined
    const read = this.#decode(text)
    if (!read) return undefined
    const found =
      hiding || text.length > maxTemplateBytes
        ? this.#parse(read.string, masks, hiding)
        : this.#find(read.string, masks)
    if (!found) return undefined
    // A name with a letter that we cannot tell may be that of something masked.
    const isUncertain = this.#encoding !== utf8 && read.string.includes('\ufffd')
    this.#effects = isUncertain ? [...found.effects, ...unparsed] : found.effects
    for (const nameChanges of found.nameChanges) this.#changeNames(nameChanges)
    if (found.splices.length === 0) return undefined
    const splices = this.#write(found.splices)
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
    }
  }

  /** pg_dump is told by its name, or by what it forbids itself where somebody gave it another name. */
  #findHiding({ hides }: MaskMap): Hiding | undefined {
    if (hides.length === 0) return undefined
    const isDump = this.#forbidsViews || this.#parameters.get('application_name') === 'pg_dump'
    return isDump ? { schemas: hides } : undefined
  }

  /** As the parser can read it: what it finds then stands at the same places. */
  #decode(text: Buffer): (ClientText & Pick<ClientEncoding, 'count'>) | undefined {
    const encoding = isAscii(text) ? utf8 : this.#encoding
    const read = encoding?.read(text)
    if (!encoding || !read) return undefined
    const isEscaped =
      this.#parameters.get('standard_conforming_strings') === 'off' && read.string.includes('\\')
    // Backslashes in plain strings would be read differently by the parser and by the server.
    const string = isEscaped ? maskEscapes(read.string) : read.string
    return string === undefined ? undefined : { string, place: read.place, count: encoding.count }
  }

  #findEncoding(): ClientEncoding | undefined {
    const client = this.#parameters.get('client_encoding') ?? 'UTF8'
    return findEncoding(client, this.#parameters.get('server_encoding') ?? 'UTF8')
  }

  /** What we put in has to be the same in the client's encoding. */
  #write(splices: readonly Splice[]): Splice[] | undefined {
    const written: Splice[] = []
    for (const { from, to, text } of splices) {
      const own = isAscii(text) ? text : this.#encoding?.write(text)
      if (!own) return undefined
      written.push({ from, to, text: own })
    }
    return written
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
      this.#cache = this.#hidden.size > 0 ? new TextCache(maxOwnTexts) : masks.cacheFor(this.#pathKey)
    }
    return this.#cache
  }

  #parse(string: string, masks: MaskMap, hiding?: Hiding): TextAnalysis | undefined {
    if (!hiding && !masks.concerns(string)) return nothingMoves
    const { database, log } = this.#options
    const names: Names = { masks, database, path: this.#path, hidden: this.#hidden, hiding }
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

  #setPath(path: readonly string[]): void {
    this.#path = path
    this.#pathKey = JSON.stringify(path)
    this.#cache = undefined
  }

  #changeNames({ path, hides, uncovers }: NameChanges): void {
    if (path === 'initial') this.#setPath(this.#initialPath)
    else if (path) this.#setPath(path.map((schema) => (schema === '$user' ? this.#options.role : schema)))
    if (uncovers === 'all') this.#hidden.clear()
    else if (uncovers !== undefined) this.#hidden.delete(uncovers)
    if (hides !== undefined) this.#hidden.add(hides)
    if (uncovers !== undefined || hides !== undefined) this.#cache = undefined
  }
}

/** The same in every encoding, and whatever backslashes mean. */
function isPlain(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = bytes[at] ?? 0
    if (code >= 0x80 || code === 0x5c) return false
  }
  return true
}

function isAscii(bytes: Buffer): boolean {
  return bytes.every((byte) => byte < 0x80)
}
