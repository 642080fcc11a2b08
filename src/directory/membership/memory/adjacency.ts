/** Edges added and removed since the arrays below were built. */
class Layer {
  readonly added = new Map<number, number[]>()
  readonly removed = new Map<number, Set<number>>()
  size = 0

  add(from: number, to: number): void {
    this.size++
    if (this.removed.get(from)?.delete(to)) return
    const list = this.added.get(from)
    if (list) list.push(to)
    else this.added.set(from, [to])
  }

  remove(from: number, to: number): void {
    this.size++
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

const edgesPerSlice = 20_000

/**
 * The edges of a graph in one direction. Two typed arrays hold nearly all of them; recent changes lie above in a layer.
 * A merge builds new arrays in slices while changes go to a further layer, so that it never stalls the event loop.
 */
export class Adjacency {
  #rows: Rows
  #frozen: Layer | undefined
  #live = new Layer()

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
  collect(from: number, into: number[]): void {
    const first = into.length
    const { offsets, targets } = this.#rows
    if (from + 1 < offsets.length) {
      const end = offsets[from + 1] as number
      for (let at = offsets[from] as number; at < end; at++) into.push(targets[at] as number)
    }
    if (this.#frozen) applyLayer(this.#frozen, from, into, first)
    if (this.#live.size > 0) applyLayer(this.#live, from, into, first)
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
    const row: number[] = []
    for (let from = 0; from < objects; from++) {
      offsets[from] = count
      row.length = 0
      this.#collectFrozen(from, frozen, row)
      if (count + row.length > targets.length) targets = enlarge(targets, count + row.length)
      for (const to of row) targets[count++] = to
      if (from % edgesPerSlice === 0) await breathe()
    }
    offsets[objects] = count
    this.#rows = { offsets, targets: targets.slice(0, count) }
    this.#frozen = undefined
  }

  #collectFrozen(from: number, frozen: Layer, into: number[]): void {
    const { offsets, targets } = this.#rows
    if (from + 1 < offsets.length) {
      const end = offsets[from + 1] as number
      for (let at = offsets[from] as number; at < end; at++) into.push(targets[at] as number)
    }
    applyLayer(frozen, from, into, 0)
  }
}

function applyLayer({ added, removed }: Layer, from: number, into: number[], first: number): void {
  const gone = removed.get(from)
  if (gone && gone.size > 0) {
    let kept = first
    for (let at = first; at < into.length; at++) {
      const to = into[at] as number
      if (!gone.has(to)) into[kept++] = to
    }
    into.length = kept
  }
  const more = added.get(from)
  if (more) for (const to of more) into.push(to)
}

function enlarge(array: Int32Array, atLeast: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.max(atLeast, Math.floor(array.length * 1.5) + 16))
  larger.set(array)
  return larger
}
