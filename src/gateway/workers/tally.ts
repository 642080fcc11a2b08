export type Counted = readonly [name: string, args: unknown[], count: number]

/** Collects calls without an answer and sends them together from time to time: there is one for every statement. */
export class Tally {
  readonly #send: (calls: readonly Counted[]) => void
  readonly #timer: NodeJS.Timeout
  #counts = new Map<string, { name: string; args: unknown[]; count: number }>()
  #others: Counted[] = []

  constructor(send: (calls: readonly Counted[]) => void, everyMs: number) {
    this.#send = send
    this.#timer = setInterval(() => this.flush(), everyMs).unref()
  }

  add(name: string, args: unknown[]): void {
    const [only] = args
    if (args.length !== 1 || typeof only !== 'string') {
      this.#others.push([name, args, 1])
      return
    }
    const key = `${name} ${only}`
    const known = this.#counts.get(key)
    if (known) known.count++
    else this.#counts.set(key, { name, args, count: 1 })
  }

  flush(): void {
    const counted = [...this.#counts.values()].map(({ name, args, count }): Counted => [name, args, count])
    const calls = [...counted, ...this.#others]
    this.#counts = new Map()
    this.#others = []
    if (calls.length > 0) this.#send(calls)
  }

  close(): void {
    clearInterval(this.#timer)
    this.flush()
  }
}
