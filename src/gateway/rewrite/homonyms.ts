import type { Homonym, WatchedRelation } from '../../contracts/role-masks.ts'
import { userSchema } from '../../sql/search-path.ts'
import { isShownRaw } from '../audit/covers.ts'

/** Schemas that are looked through for each reference, those of `$user` included. Where there are more, names are looked for once. */
const longPath = 100

/** How names without a schema are looked for: in a session of this role, by this path. */
export interface Lookup {
  readonly path: readonly string[]
  /** Of the login. `$user` is the current one, which may be another. */
  readonly role?: string | undefined
}

interface Resolved {
  readonly schema: string | undefined
  readonly meanings: readonly string[]
}

/** Schemas of PostgreSQL's own. Temporary ones are not on a path by their names. */
const system = /^pg_(catalog|toast|temp_)/

interface Entry extends Homonym {
  /** No privilege would let the role read anything raw there. */
  readonly isDenied?: boolean
}

/** The relations that share their names with masked ones. */
export class Homonyms {
  readonly #byName = new Map<string, Map<string, Entry>>()
  /** Schemas with the names of roles that a session may become. */
  readonly #ofRoles = new Map<string, string[]>()
  readonly #resolved = new WeakMap<readonly string[], Map<string, Resolved>>()

  /** `watched`: those in schemas that the role may not use have meanings too, as USAGE can be granted before the gateway hears of it. */
  constructor(homonyms: readonly Homonym[], watched: readonly WatchedRelation[]) {
    for (const homonym of homonyms) {
      const { name, schema } = homonym
      this.#byName.set(name, (this.#byName.get(name) ?? new Map()).set(schema, homonym))
      if (!homonym.isOfRole) continue
      const ofRoles = this.#ofRoles.get(name) ?? []
      this.#ofRoles.set(name, ofRoles)
      ofRoles.push(schema)
    }
    for (const { schema, name, masked, shows, rules = [], policies = [] } of watched) {
      const same = this.#byName.get(name)
      // A name of which the role can use none may mean any.
      if (!same || same.has(schema) || system.test(schema)) continue
      const isDenied = ![masked, shows, rules, policies].some((some) => some.some(isShownRaw))
      same.set(schema, { schema, name, isUsable: false, isDenied })
    }
  }

  has(name: string): boolean {
    return this.#byName.has(name)
  }

  /** The schemas of all of that name by which another path may show more to the role. */
  *schemasOf(name: string): Iterable<string> {
    for (const { schema, isDenied } of this.#byName.get(name)?.values() ?? []) if (!isDenied) yield schema
  }

  /** The schema of the relation that a name stands for to the role of the login, in the order of the path. */
  resolve(name: string, lookup: Lookup): string | undefined {
    return this.#find(name, lookup)?.schema
  }

  /**
   * The schemas of all relations that the name may stand for: the session may have become another role, or have dropped, renamed or
   * lost the first one in a transaction that no other session sees.
   */
  findMeanings(name: string, lookup: Lookup): readonly string[] {
    return this.#find(name, lookup)?.meanings ?? []
  }

  #find(name: string, lookup: Lookup): Resolved | undefined {
    const homonyms = this.#byName.get(name)
    if (!homonyms) return undefined
    const { path } = lookup
    const count = path.length + (this.#ofRoles.get(name)?.length ?? 0)
    if (count <= longPath) return this.#look(name, homonyms, lookup)
    const known = this.#resolved.get(path) ?? new Map<string, Resolved>()
    this.#resolved.set(path, known)
    const found = known.get(name) ?? this.#look(name, homonyms, lookup)
    known.set(name, found)
    return found
  }

  #look(name: string, homonyms: ReadonlyMap<string, Entry>, { path, role }: Lookup): Resolved {
    // A path that does not list it begins with it.
    if (homonyms.has('pg_catalog') && !path.includes('pg_catalog'))
      return { schema: 'pg_catalog', meanings: ['pg_catalog'] }
    let first: string | undefined
    const meanings = new Set<string>()
    for (const each of path) {
      if (each === userSchema) for (const schema of this.#ofRoles.get(name) ?? []) meanings.add(schema)
      const schema = each === userSchema ? role : each
      const homonym = schema === undefined ? undefined : homonyms.get(schema)
      if (!homonym) continue
      meanings.add(homonym.schema)
      if (homonym.isUsable !== false) first ??= homonym.schema
    }
    return { schema: first, meanings: [...meanings] }
  }
}
