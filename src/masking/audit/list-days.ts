import { Type } from 'typebox'
import { readTime } from './read-time.ts'

const dayMs = 24 * 60 * 60 * 1000
const defaultDays = 30
const mostDays = 92

export const fromOption = Type.Optional(
  Type.String({
    description: `The start of the first day; ${defaultDays} days ago where it is left out, and ${mostDays} at the earliest.`,
  }),
)

/** The starts of the days of 24 hours until now, the first one as asked for. */
export function listDays(asked: string | undefined): readonly string[] {
  const now = Date.now()
  const wanted = readTime('from', asked)
  const from = Math.max(
    wanted === null ? now - defaultDays * dayMs : Date.parse(wanted),
    now - mostDays * dayMs,
  )
  const count = Math.max(1, Math.ceil((now - from) / dayMs))
  return Array.from({ length: count }, (_, at) => new Date(from + at * dayMs).toISOString())
}
