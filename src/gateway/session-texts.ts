import { isUtf8 } from 'node:buffer'
import type { Logger } from 'pino'
import type { Turns } from './find-moves.ts'
import type { Hiding } from './hide-own.ts'
import type { Rewritten, Splice } from './map-position.ts'
import type { MaskMap } from './mask-map.ts'
import { type Rewriting, rewriteText } from './rewrite.ts'
import { readSearchPath } from './search-path.ts'
import { findTemplate, placeSplices } from './template.ts'

export interface SessionTextsOptions {
  readonly masks: () => MaskMap
  readonly role: string
  /** As PostgreSQL calls it. */
  readonly database: string
  /** What the server reported at login. */
  readonly parameters: ReadonlyMap<string, string>
  readonly log: Logger
}

export interface Moved {
  readonly text: Buffer
  readonly rewritten: Rewritten
  readonly readsTwin: boolean
}

const maxCached = 1_000
const maxCachedBytes = 4_096

const forbidding = 'restrict_nonsystem_relation_kind'

/** Encodings of clients in which a byte of a letter can look like a quote or a backslash. */
const treacherous = /^(SJIS|SHIFT_JIS|BIG5|GBK|UHC|GB18030|JOHAB|MULE)/i

/** The statements of one session: what their names mean there, and what becomes of them. */
export class SessionTexts {
  readonly #options: SessionTextsOptions
  readonly #parameters: Map<string, string>
  readonly #initialPath: readonly string[]
  readonly #hidden = new Set<string>()
  #path: readonly string[]
  #forbidsViews = false

  constructor(options: SessionTextsOptions) {
    this.#options = options
    this.#parameters = new Map(options.parameters)
    this.#initialPath = readSearchPath(options.parameters.get('search_path') ?? '', options.role)
    this.#path = this.#initialPath
  }

  /** The server says what is; what we made of the client's own statements was a guess until then. */
  setParameter(name: string, value: string): void {
    this.#parameters.set(name, value)
    if (name === 'search_path') this.#path = readSearchPath(value, this.#options.role)
  }

  /** The session has forbidden itself to read views, as pg_dump does. */
  get forbidsViews(): boolean {
    return this.#forbidsViews
  }

  /** Undefined: the text stays as it is. */
  rewrite(text: Buffer): Moved | undefined {
    const masks = this.#options.masks()
    if (text.includes(forbidding)) this.#forbidsViews = text.includes("'view, foreign-table'")
    const hiding = this.#findHiding(masks)
    if (masks.isEmpty && !hiding) return undefined
    const read = this.#decode(text)
    if (!read || !(hiding || masks.concerns(read.string))) return undefined
    const rewriting = this.#find(read.string, read.utf8, masks, hiding)
    if (!rewriting) return undefined
    for (const turns of rewriting.turns) this.#turn(turns)
    const { splices, readsTwin } = rewriting
    if (splices.length === 0) return undefined
    const moved = join(read.utf8, splices)
    if (read.isUtf8) return { text: moved, rewritten: { original: text, splices, isUtf8: true }, readsTwin }
    // What we put in has to be the same in every encoding.
    if (splices.some((splice) => !isAscii(splice.text))) return undefined
    return {
      text: Buffer.from(moved.toString(), 'latin1'),
      rewritten: { original: text, splices: inBytes(read.utf8, splices), isUtf8: false },
      readsTwin,
    }
  }

  /** pg_dump is told by its name, or by what it forbids itself where somebody gave it another name. */
  #findHiding({ hides }: MaskMap): Hiding | undefined {
    if (hides.length === 0) return undefined
    const isDump = this.#forbidsViews || this.#parameters.get('application_name') === 'pg_dump'
    return isDump ? { schemas: hides } : undefined
  }

  /** A byte per character where the encoding is not UTF-8: the parser then finds the same names at the same places. */
  #decode(text: Buffer): { string: string; utf8: Buffer; isUtf8: boolean } | undefined {
    // Backslashes in plain strings would be read differently by the parser and by the server.
    if (this.#parameters.get('standard_conforming_strings') === 'off' && text.includes('\\')) return undefined
    const encoding = this.#parameters.get('client_encoding') ?? 'UTF8'
    if (isAscii(text) || /^(UTF-?8|UNICODE)$/i.test(encoding))
      return isUtf8(text) ? { string: text.toString(), utf8: text, isUtf8: true } : undefined
    if (treacherous.test(encoding)) return undefined
    const string = text.toString('latin1')
    return { string, utf8: Buffer.from(string), isUtf8: false }
  }

  #find(string: string, utf8: Buffer, masks: MaskMap, hiding: Hiding | undefined): Rewriting | undefined {
    try {
      if (hiding || this.#hidden.size > 0 || utf8.length > maxCachedBytes)
        return this.#parse(utf8, masks, hiding)
      const cache = masks.cache as Map<string, Rewriting>
      const path = JSON.stringify(this.#path)
      const known = recall(cache, path + string) ?? this.#findByTemplate(string, path, masks)
      if (known) return known
      const found = this.#parse(utf8, masks)
      remember(cache, path + string, found)
      return found
    } catch (err) {
      // Forwarded as it is: PostgreSQL then denies what it must. The text is the client's and goes into no log.
      this.#options.log.error({ err }, 'a statement could not be rewritten')
      return undefined
    }
  }

  /** Statements that differ in their literals alone are parsed once; not those in which a literal means a name. */
  #findByTemplate(string: string, path: string, masks: MaskMap): Rewriting | undefined {
    const template = findTemplate(string)
    if (!template) return undefined
    const cache = masks.cache as Map<string, Rewriting>
    const key = `template${path}${template.text}`
    const known = recall(cache, key)
    const found = known ?? this.#parse(Buffer.from(template.text), masks)
    if (!known) remember(cache, key, found)
    if (!found.isParsed || found.turns.length > 0) return undefined
    return { ...found, splices: placeSplices(template, found.splices) }
  }

  #parse(utf8: Buffer, masks: MaskMap, hiding?: Hiding): Rewriting {
    const { database } = this.#options
    return rewriteText(utf8, { masks, database, path: this.#path, hidden: this.#hidden, hiding })
  }

  #turn({ path, hides, uncovers }: Turns): void {
    if (path === 'initial') this.#path = this.#initialPath
    else if (path) this.#path = path.map((schema) => (schema === '$user' ? this.#options.role : schema))
    if (uncovers === 'all') this.#hidden.clear()
    else if (uncovers !== undefined) this.#hidden.delete(uncovers)
    if (hides !== undefined) this.#hidden.add(hides)
  }
}

function recall(cache: Map<string, Rewriting>, key: string): Rewriting | undefined {
  const known = cache.get(key)
  if (!known) return undefined
  cache.delete(key)
  cache.set(key, known)
  return known
}

function remember(cache: Map<string, Rewriting>, key: string, found: Rewriting): void {
  cache.set(key, found)
  if (cache.size <= maxCached) return
  const [oldest = ''] = cache.keys()
  cache.delete(oldest)
}

function join(text: Buffer, splices: readonly Splice[]): Buffer {
  const pieces: Buffer[] = []
  let end = 0
  for (const splice of splices) {
    pieces.push(text.subarray(end, splice.from), splice.text)
    end = splice.to
  }
  return Buffer.concat([...pieces, text.subarray(end)])
}

function inBytes(utf8: Buffer, splices: readonly Splice[]): Splice[] {
  const count = (to: number) => utf8.toString('utf8', 0, to).length
  return splices.map(({ from, to, text }) => ({ from: count(from), to: count(to), text }))
}

function isAscii(bytes: Buffer): boolean {
  return bytes.every((byte) => byte < 0x80)
}
