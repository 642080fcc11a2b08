import type { Adjacency } from './adjacency.ts'
import { type Key, readUuid } from './key-table.ts'
import { NumberList } from './number-list.ts'
import { containerFacts, groupFacts, type ObjectState, type ObjectTable } from './object-table.ts'

/** One step of the change log, as far as it concerns memberships. */
export type EdgeChange =
  | { readonly kind: 'memberAdded' | 'memberRemoved'; readonly container: Key; readonly member: Key }
  | { readonly kind: 'purged'; readonly object: Key }

export interface GroupFilter {
  readonly securityEnabledOnly: boolean
  readonly includeRoles: boolean
  readonly limit: number
}

/** As many changes as this share of all edges are merged into the arrays, and never fewer than `mergeAtLeast`. */
const mergeShare = 0.1
const mergeAtLeast = 10_000

/**
 * The direct memberships of one tenant at one revision. No transitive closure: removing an edge is then removing one
 * edge, where a closure has to find out which other paths remain.
 */
export class MembershipIndex {
  #revision: number
  readonly #objects: ObjectTable
  readonly #up: Adjacency
  readonly #down: Adjacency
  #edges: number
  /** An object was visited by the present walk when its entry is `#walk`; nothing is ever cleared. */
  #seen: Int32Array
  #walk = 0
  /** The objects that the present walk found. A walk never waits. */
  readonly #found = new NumberList()
  #isMerging = false

  constructor(revision: number, objects: ObjectTable, up: Adjacency, down: Adjacency, edges: number) {
    this.#revision = revision
    this.#objects = objects
    this.#up = up
    this.#down = down
    this.#edges = edges
    this.#seen = new Int32Array(objects.count + 1024)
  }

  get revision(): number {
    return this.#revision
  }

  get size(): { objects: number; edges: number; bytes: number; edgeBytes: number } {
    const edgeBytes = this.#up.bytes + this.#down.bytes
    const bytes = this.#objects.bytes + edgeBytes + this.#seen.byteLength
    return { objects: this.#objects.count, edges: this.#edges, bytes, edgeBytes }
  }

  get objects(): ObjectTable {
    return this.#objects
  }

  /**
   * Applies the changes up to `revision`: edges in the order of the log, then the states that the objects they touched
   * have at that revision (undefined: the object is gone).
   */
  apply(
    revision: number,
    edges: readonly EdgeChange[],
    states: readonly { readonly id: Key; readonly state: ObjectState | undefined }[],
  ): void {
    for (const change of edges)
      if (change.kind === 'purged') this.#removeEdgesOf(this.#objects.find(change.object))
      else
        this.#change(change.kind, this.#objects.number(change.container), this.#objects.number(change.member))
    for (const { id, state } of states)
      if (state) this.#objects.put(state)
      else {
        const object = this.#objects.find(id)
        if (object >= 0) this.#objects.drop(object)
      }
    this.#revision = revision
    if (this.#seen.length < this.#objects.count) {
      this.#seen = new Int32Array(Math.floor(this.#objects.count * 1.5))
      this.#walk = 0
    }
  }

  /** Merges recent changes into the arrays when they have become many; `breathe` lets others work in between. */
  async merge(breathe: () => Promise<void>, atLeast = mergeAtLeast): Promise<void> {
    if (this.#isMerging || this.#up.pending < Math.max(atLeast, this.#edges * mergeShare)) return
    this.#isMerging = true
    try {
      const objects = this.#objects.count
      await this.#up.merge(objects, breathe)
      await this.#down.merge(objects, breathe)
    } finally {
      this.#isMerging = false
    }
  }

  /** The groups, and roles where asked for, that contain the object at any depth; by their numbers. */
  groupsOf(object: number, { securityEnabledOnly, includeRoles, limit }: GroupFilter): Int32Array {
    const found = this.#walkUp(object)
    const { items } = found
    if (!securityEnabledOnly && includeRoles) return items.slice(1, Math.min(found.count, limit + 1))
    let chosen = 0
    for (let at = 1; at < found.count && chosen < limit; at++) {
      const container = items[at] as number
      if (securityEnabledOnly && !this.#objects.isSecured(container)) continue
      if (!includeRoles && !this.#objects.isGroup(container)) continue
      items[chosen++] = container
    }
    return items.slice(0, chosen)
  }

  groupsAmong(object: number, candidates: readonly string[], includeRoles: boolean): string[] {
    this.#walkUp(object)
    const mark = this.#walk
    return candidates.filter((id) => {
      const container = this.numberOf(id)
      return (
        container >= 0 &&
        container !== object &&
        this.#seen[container] === mark &&
        (includeRoles || this.#objects.isGroup(container))
      )
    })
  }

  groupsWithin(container: number): string[] {
    return Array.from(this.#walkDown(container).toArray(), (group) => this.#objects.idOf(group))
  }

  membersOf(container: number): string[] {
    const groups = this.#walkDown(container).toArray()
    const members = new NumberList()
    for (const group of groups) this.#down.collect(group, members)
    const walk = this.#beginWalk()
    this.#seen[container] = walk
    const found: string[] = []
    for (let at = 0; at < members.count; at++) {
      const member = members.items[at] as number
      if (this.#seen[member] === walk) continue
      this.#seen[member] = walk
      if (this.#objects.isAlive(member)) found.push(this.#objects.idOf(member))
    }
    return found
  }

  /** Breadth first with containers in the order of their ids, so that the answer is always the same shortest chain. */
  explain(from: number, to: number): string[] | null {
    if (from === to) return null
    const cameFrom = new Map<number, number>()
    let frontier = [from]
    while (frontier.length > 0 && !cameFrom.has(to)) {
      const next: number[] = []
      for (const member of frontier)
        for (const container of this.#containersInOrder(member)) {
          if (container === from || cameFrom.has(container)) continue
          cameFrom.set(container, member)
          next.push(container)
        }
      frontier = next
    }
    if (!cameFrom.has(to)) return null
    const chain: string[] = []
    for (let at: number | undefined = to; at !== undefined && at !== from; at = cameFrom.get(at))
      chain.unshift(this.#objects.idOf(at))
    return chain
  }

  /** The number of the object with this id, or -1. */
  numberOf(id: string): number {
    const key = readUuid(id)
    return key ? this.#objects.find(key) : -1
  }

  #containersInOrder(member: number): number[] {
    const containers = new NumberList()
    this.#up.collect(member, containers)
    return [...containers.toArray()]
      .filter((container) => this.#objects.isContainer(container))
      .sort((a, b) => this.#objects.compareIds(a, b))
  }

  #change(kind: 'memberAdded' | 'memberRemoved', container: number, member: number): void {
    if (kind === 'memberAdded') {
      this.#up.add(member, container)
      this.#down.add(container, member)
      this.#edges++
    } else {
      this.#up.remove(member, container)
      this.#down.remove(container, member)
      this.#edges--
    }
  }

  #removeEdgesOf(object: number): void {
    if (object < 0) return
    const containers = new NumberList()
    const members = new NumberList()
    this.#up.collect(object, containers)
    this.#down.collect(object, members)
    for (const container of containers.toArray()) this.#change('memberRemoved', container, object)
    for (const member of members.toArray()) this.#change('memberRemoved', object, member)
  }

  #beginWalk(): number {
    if (this.#walk === 0x7fffffff) {
      this.#seen.fill(0)
      this.#walk = 0
    }
    return ++this.#walk
  }

  /** The object, and behind it its containers at any depth; until the next walk. */
  #walkUp(object: number): NumberList {
    return this.#reach(this.#up, object, containerFacts)
  }

  /** The container and the groups within it at any depth; until the next walk. */
  #walkDown(container: number): NumberList {
    return this.#reach(this.#down, container, groupFacts)
  }

  #reach(edges: Adjacency, from: number, taken: Uint8Array): NumberList {
    const mark = this.#beginWalk()
    const found = this.#found
    found.count = 0
    if (from < 0) return found
    this.#seen[from] = mark
    found.push(from)
    edges.reach(found, { seen: this.#seen, mark, facts: this.#objects.facts, taken })
    return found
  }
}
