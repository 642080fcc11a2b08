import type { Fragment, Query } from './query.ts'

interface Part {
  readonly question: Fragment
  readonly hear: (answer: never) => void
}

/** Asks in one statement what the parts of a node look at again and again. A store that is away costs a beat, and nothing else. */
export class Pulse {
  readonly #sql: Query
  readonly #parts = new Set<Part>()
  readonly #timer: NodeJS.Timeout
  #beating: Promise<void> | undefined

  constructor(sql: Query, everyMs: number) {
    this.#sql = sql
    this.#timer = setInterval(() => {
      this.#beating ??= this.#beat()
        .catch(() => {})
        .finally(() => {
          this.#beating = undefined
        })
    }, everyMs).unref()
  }

  /** The question is an expression; its answer comes as JSON. Returns the function that ends it. */
  ask<T>(question: Fragment, hear: (answer: T) => void): () => void {
    const part = { question, hear }
    this.#parts.add(part)
    return () => this.#parts.delete(part)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#beating
  }

  async #beat(): Promise<void> {
    const sql = this.#sql
    const parts = [...this.#parts]
    const questions = parts.map(({ question }) => question)
    if (questions.length === 0) return
    const list = questions.reduce((before, next) => sql`${before}, ${next}`)
    const [row] = await sql<{ answers: never[] }[]>`select jsonb_build_array(${list}) as answers`
    for (const [at, part] of parts.entries())
      if (row && this.#parts.has(part)) part.hear(row.answers[at] as never)
  }
}
