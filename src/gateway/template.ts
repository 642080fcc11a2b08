import type { Splice } from './map-position.ts'

/** A text with every number and string in it made the same, so that ad hoc statements share one. */
export interface Template {
  readonly text: string
  /** Where a place of the template is in the text itself. */
  place(at: number): number
}

/** Comments, dollar quotes, escapes, other letters: what decides where a literal ends is then not as simple. */
const isIntricate = /[^\t\n\r -~]|[\\$]|--|\/\*|u&/i
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[a-z_]\w*|\.?\d[\w.]*/gi

/** Undefined: the text has no template, or is its own. */
export function findTemplate(text: string): Template | undefined {
  if (isIntricate.test(text)) return undefined
  const shifts: { readonly from: number; readonly by: number }[] = []
  let shift = 0
  const same = text.replace(token, (found: string, at: number) => {
    const literal = found.startsWith("'") ? "'a'" : /^\.?\d/.test(found) ? '1' : undefined
    if (literal === undefined) return found
    shift += found.length - literal.length
    shifts.push({ from: at + found.length - shift, by: shift })
    return literal
  })
  if (shifts.length === 0) return undefined
  return { text: same, place: (at) => at + (shifts.findLast(({ from }) => from <= at)?.by ?? 0) }
}

export function placeSplices(template: Template, splices: readonly Splice[]): Splice[] {
  return splices.map(({ from, to, text }) => ({ from: template.place(from), to: template.place(to), text }))
}
