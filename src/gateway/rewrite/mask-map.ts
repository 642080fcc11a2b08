import type { MaskedRelation, RoleMasks, WatchedRelation } from '../../contracts/role-masks.ts'
import { BoundedCache } from '../../kernel/cache.ts'
import { isAscii } from '../../sql/search-path.ts'
import { covers } from '../audit/covers.ts'
import { textRunners } from '../audit/text-runners.ts'
import { Homonyms, type Lookup } from './homonyms.ts'
import type { TextAnalysis } from './text-analysis.ts'
import { TextCache } from './text-cache.ts'

/** Words by which a statement changes what a name means in its session. */
const nameChanging = ['search_path', 'schema', 'discard', 'reset', 'attribute']
/** Words of statements whose errors show values of tables that they do not name. */
const failing = ['domain', 'reindex', 'cluster', 'vacuum', 'analyze', 'analyse', 'refresh']
/** Words of statements that run what is not in them. */
const running = ['prepare', 'execute', 'do', 'function', 'procedure', 'operator', 'aggregate', ...textRunners]
/** Words of statements by which a role gets values that it could not read before. */
const granting = ['grant', 'reassign']
const word = /[\p{L}\p{N}\p{M}_$]+/gu
const maxNameBytes = 63
/** Of a name that PostgreSQL has cut: it cuts in front of a character. */
const shortestCut = 60
const maxTexts = 1_000
const maxPaths = 8
/** A session can make any number of sets of relations by its search path. */
const maxJoined = 50
const maxMeanings = 100

let versions = 0

/** The relations that move for one role, indexed for lookup. */
export class MaskMap {
  readonly #byName = new Map<string, Map<string, MaskedRelation>>()
  readonly #homonyms: Homonyms
  readonly #baseOfTwin = new Map<string, MaskedRelation>()
  readonly #watched = new Map<string, Map<string, WatchedRelation>>()
  /** Schemas of temporary views that are watched, by name. Which of them is the session's own is not known. */
  readonly #temporary = new Map<string, string[]>()
  /** Of names that several relations have: found once, and asked for with every reference. */
  readonly #joined = new BoundedCache<WatchedRelation>(maxJoined)
  readonly #pathDependence = new Map<string, boolean>()
  readonly #words = new Set<string>([...nameChanging, ...failing, ...running, ...granting])
  /** A name without any word in it: then every text has to be looked at. */
  #isWordless = false
  /** Analysed texts under this map, by search path; dropped with the map. */
  readonly #caches = new BoundedCache<TextCache<TextAnalysis>>(maxPaths)

  readonly relations: readonly MaskedRelation[]
  /** Schemas of ours that a dump of the whole database leaves out. */
  readonly hides: readonly string[]

  /** Another one for every map. */
  readonly version = ++versions

  /** The masks are not known: any relation may be masked. */
  readonly isUnknown: boolean

  /** Masked columns that errors show raw: `fails` of a watched relation has places in it. */
  readonly rows: readonly (readonly string[])[]

  constructor({ relations, homonyms, watched = [], rows = [], hides = [], isUnknown = false }: RoleMasks) {
    this.rows = rows
    this.hides = hides
    this.relations = relations
    // Tools look for columns there.
    if (relations.length > 0) this.#addWord('information_schema')
    this.isUnknown = isUnknown
    for (const relation of relations) {
      const { name, schema, twin } = relation
      const same = this.#byName.get(name) ?? new Map()
      this.#byName.set(name, same.set(schema, relation))
      this.#baseOfTwin.set(JSON.stringify([twin.schema, twin.name]), relation)
      this.#addWord(name)
    }
    for (const relation of watched) {
      const { name, schema } = relation
      const same = this.#watched.get(name) ?? new Map()
      this.#watched.set(name, same.set(schema, relation))
      if (schema.startsWith('pg_temp_'))
        this.#temporary.set(name, [...(this.#temporary.get(name) ?? []), schema])
      this.#addWord(name)
    }
    this.#homonyms = new Homonyms(homonyms, watched)
  }

  #addWord(name: string): void {
    const folded = fold(name)
    const words = folded.match(word) ?? []
    // The last word of a name that PostgreSQL has cut may be longer in a text. One of a single word is then longer than any name.
    const isCut = words.length > 0 && words[0] !== folded && Buffer.byteLength(name) >= shortestCut
    if (isCut && folded.endsWith(words.at(-1) ?? '')) words.pop()
    const longest = words.sort((a, b) => b.length - a.length)[0]
    if (longest === undefined) this.#isWordless = true
    else this.#words.add(longest)
  }

  get isEmpty(): boolean {
    return this.#byName.size === 0 && this.#watched.size === 0
  }

  /** False: nothing in this text can be the name of a masked relation, however it is written. */
  concerns(text: string): boolean {
    if (this.isEmpty) return false
    // Names may be spelled by code points, or be cut to their first 63 bytes. What is temporary may run anything.
    if (this.#isWordless || /u&"|pg_temp|\btemp(?:orary)?\b/i.test(text)) return true
    for (const [found] of fold(text).matchAll(word))
      if (this.#words.has(found) || found.length * 3 > maxNameBytes) {
        if (this.#words.has(found) || Buffer.byteLength(found) > maxNameBytes) return true
      }
    return false
  }

  cacheFor(path: string): TextCache<TextAnalysis> {
    const known = this.#caches.get(path)
    if (known) return known
    const cache = new TextCache<TextAnalysis>(maxTexts)
    this.#caches.set(path, cache)
    return cache
  }

  find(schema: string, name: string): MaskedRelation | undefined {
    return this.#byName.get(name)?.get(schema)
  }

  /** The schema of the relation that a name without a schema stands for, in the order of the path. */
  resolve(name: string, lookup: Lookup): string | undefined {
    return this.#homonyms.resolve(name, lookup)
  }

  /** More than one: which of them it is depends on what the session can see. */
  findMeanings(name: string, lookup: Lookup): readonly string[] {
    const meanings = this.#homonyms.findMeanings(name, lookup)
    const temporary = this.#temporary.get(name)
    return temporary ? [...meanings, ...temporary] : meanings
  }

  /** What a temporary view of that name shows. */
  findWatchedTemporary(name: string): WatchedRelation | undefined {
    return this.findWatchedAmong(name, this.#temporary.get(name) ?? [])
  }

  findWatched(schema: string, name: string): WatchedRelation | undefined {
    return this.#watched.get(name)?.get(schema)
  }

  /** By another search path, a name that means the one of this schema would mean something that may show more. */
  dependsOnPath(name: string, schema: string | undefined): boolean {
    if (!this.#homonyms.has(name)) return false
    const key = JSON.stringify([schema ?? null, name])
    const depends = this.#pathDependence.get(key) ?? this.#findPathDependence(name, schema)
    this.#pathDependence.set(key, depends)
    return depends
  }

  #findPathDependence(name: string, schema: string | undefined): boolean {
    const meant = schema === undefined ? undefined : this.findWatched(schema, name)
    for (const each of this.#homonyms.schemasOf(name)) {
      const other = each === schema ? meant : this.findWatched(each, name)
      if (each !== schema && !(meant && other && covers(meant, other, this.rows))) return true
    }
    return false
  }

  /** Whichever of that name is meant: all that they show together. */
  findWatchedAnywhere(name: string): WatchedRelation | undefined {
    return this.#join(JSON.stringify(name), () => [...(this.#watched.get(name)?.values() ?? [])])
  }

  /** The same of those in these schemas. */
  findWatchedAmong(name: string, schemas: readonly string[]): WatchedRelation | undefined {
    if (schemas.length > maxMeanings) return this.findWatchedAnywhere(name)
    const key = JSON.stringify([name, ...schemas])
    return this.#join(key, () => schemas.flatMap((schema) => this.findWatched(schema, name) ?? []))
  }

  /** Of the first the columns are told apart. The others show all of theirs. */
  #join(key: string, find: () => readonly WatchedRelation[]): WatchedRelation | undefined {
    const known = this.#joined.get(key)
    if (known) return known
    const [first, ...others] = find()
    if (!first || others.length === 0) return first
    const shows = others.flatMap((other) => [...other.masked, ...other.shows])
    const joined = {
      ...first,
      shows: [...first.shows, ...shows],
      rules: [first, ...others].flatMap(({ rules = [] }) => rules),
      policies: [first, ...others].flatMap(({ policies = [] }) => policies),
      mayShowMore: [first, ...others].some(({ mayShowMore }) => mayShowMore),
      fails: [...new Set([first, ...others].flatMap(({ fails = [] }) => fails))],
      failsOnChange: [...new Set([first, ...others].flatMap(({ failsOnChange = [] }) => failsOnChange))],
    }
    this.#joined.set(key, joined)
    return joined
  }

  findBase(schema: string, name: string): MaskedRelation | undefined {
    return this.#baseOfTwin.get(JSON.stringify([schema, name]))
  }
}

/** As PostgreSQL folds names. Letters beyond ASCII stay: their small ones depend on their neighbours, and may be shorter. */
function fold(text: string): string {
  return isAscii(text) ? text.toLowerCase() : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
