import { NumberList } from './number-list.ts'

const marks = 32_768

/** Edges added and removed since the arrays below were built. */
class Layer {
  readonly added = new Map<number, number[]>()
  readonly removed = new Map<number, Set<number>>()
  /** 1 where an object with these last bits has a change: most objects have none, and one byte tells so. */
  readonly #marked = new Uint8Array(marks)
  size = 0

  /** False: the object has no change. */
  mayChange(from: number): boolean {
    return this.#marked[from % marks] === 1
  }

  add(from: number, to: number): void {
    this.size++
    this.#marked[from % marks] = 1
    if (this.removed.get(from)?.delete(to)) return
    const list = this.added.get(from)
    if (list) list.push(to)
    else this.added.set(from, [to])
  }

  remove(from: number, to: number): void {
    this.size++
    this.#marked[from % marks] = 1
    const list = this.added.get(from)
    const at = list?.indexOf(to) ?? -1
    if (list && at >= 0) {
      list.splice(at, 1)
      return
    }
    const set = this.removed.get(from)
    if (set) set.add(to)
    else this.removed.set(from, new Set([to]))
  }
}

/** Compressed sparse rows: the edges of `n` are `targets[offsets[n]]` up to `targets[offsets[n + 1]]`. */
interface Rows {
  readonly offsets: Int32Array
  readonly targets: Int32Array
}

/** The objects that a walk passes, and those that it has passed already. */
export interface Walk {
  /** An object was reached by this walk when its entry is `mark`. */
  readonly seen: Int32Array
  readonly mark: number
  readonly facts: Uint8Array
  /** 1 for the facts of objects that the walk takes. */
  readonly taken: Uint8Array
}

const edgesPerSlice = 20_000

/**
 * The edges of a graph in one direction. Two typed arrays hold nearly all of them; recent changes lie above in a layer.
 * A merge builds new arrays in slices while changes go to a further layer, so that it never stalls the event loop.
 */
export class Adjacency {
  #rows: Rows
  #frozen: Layer | undefined
  #live = new Layer()
  /** The row of the object that a walk is at, where it has changes. A walk never waits. */
  readonly #changed = new NumberList()

  private constructor(rows: Rows) {
    this.#rows = rows
  }

  /** Sorts the edges by `from` in two passes. Ends a slice where `breathe` is awaited. */
  static async build(
    objects: number,
    count: number,
    from: Int32Array,
    to: Int32Array,
    breathe: () => Promise<void>,
  ): Promise<Adjacency> {
    const offsets = new Int32Array(objects + 1)
    for (let at = 0; at < count; at++) {
      const next = (from[at] as number) + 1
      offsets[next] = (offsets[next] as number) + 1
      if (at % edgesPerSlice === 0) await breathe()
    }
    for (let at = 0; at < objects; at++)
      offsets[at + 1] = (offsets[at + 1] as number) + (offsets[at] as number)
    const targets = new Int32Array(count)
    const fill = offsets.slice(0, objects)
    for (let at = 0; at < count; at++) {
      const row = from[at] as number
      targets[fill[row] as number] = to[at] as number
      fill[row] = (fill[row] as number) + 1
      if (at % edgesPerSlice === 0) await breathe()
    }
    return new Adjacency({ offsets, targets })
  }

  get bytes(): number {
    return this.#rows.offsets.byteLength + this.#rows.targets.byteLength + this.pending * 64
  }

  /** Changes that are not in the arrays yet. */
  get pending(): number {
    return this.#live.size + (this.#frozen?.size ?? 0)
  }

  add(from: number, to: number): void {
    this.#live.add(from, to)
  }

  remove(from: number, to: number): void {
    this.#live.remove(from, to)
  }

  /** Appends the targets of an object to `into`. */
  collect(from: number, into: NumberList): void {
    const first = into.count
    collectRow(this.#rows, from, into)
    if (this.#frozen?.mayChange(from)) applyLayer(this.#frozen, from, into, first)
    if (this.#live.mayChange(from)) applyLayer(this.#live, from, into, first)
  }

  /**
   * Appends all objects that can be reached from those in `found`. This is nearly all of the work of an answer: rows
   * without changes are read where they lie, and nothing is called for them.
   */
  reach(found: NumberList, { seen, mark, facts, taken }: Walk): void {
    const { offsets, targets } = this.#rows
    const frozen = this.#frozen
    const live = this.#live
    const changed = this.#changed
    for (let next = 0; next < found.count; next++) {
      const from = found.items[next] as number
      let row = targets
      let at = 0
      let end = 0
      if (live.mayChange(from) || frozen?.mayChange(from)) {
        changed.count = 0
        this.collect(from, changed)
        row = changed.items
        end = changed.count
      } else if (from + 1 < offsets.length) {
        at = offsets[from] as number
        end = offsets[from + 1] as number
      }
      for (; at < end; at++) {
        const to = row[at] as number
        if (seen[to] === mark || taken[facts[to] as number] !== 1) continue
        seen[to] = mark
        found.push(to)
      }
    }
  }

  /** Moves the changes into new arrays. Resolves when they are in use. */
  async merge(objects: number, breathe: () => Promise<void>): Promise<void> {
    if (this.#frozen) return
    this.#frozen = this.#live
    this.#live = new Layer()
    const frozen = this.#frozen
    const offsets = new Int32Array(objects + 1)
    let targets = new Int32Array(this.#rows.targets.length + frozen.size)
    let count = 0
    const row = new NumberList()
    for (let from = 0; from < objects; from++) {
      offsets[from] = count
      row.count = 0
      collectRow(this.#rows, from, row)
      applyLayer(frozen, from, row, 0)
      if (count + row.count > targets.length) targets = enlarge(targets, count + row.count)
      for (let at = 0; at < row.count; at++) targets[count++] = row.items[at] as number
      if (from % edgesPerSlice === 0) await breathe()
    }
    offsets[objects] = count
    this.#rows = { offsets, targets: targets.slice(0, count) }
    this.#frozen = undefined
  }
}

function collectRow({ offsets, targets }: Rows, from: number, into: NumberList): void {
  if (from + 1 >= offsets.length) return
  const end = offsets[from + 1] as number
  for (let at = offsets[from] as number; at < end; at++) into.push(targets[at] as number)
}

function applyLayer({ added, removed }: Layer, from: number, into: NumberList, first: number): void {
  const gone = removed.get(from)
  if (gone && gone.size > 0) {
    const { items } = into
    let kept = first
    for (let at = first; at < into.count; at++) {
      const to = items[at] as number
      if (!gone.has(to)) items[kept++] = to
    }
    into.count = kept
  }
  const more = added.get(from)
  if (more) for (const to of more) into.push(to)
}

function enlarge(array: Int32Array, atLeast: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.max(atLeast, Math.floor(array.length * 1.5) + 16))
  larger.set(array)
  return larger
}
