import { styleText } from 'node:util'

export interface Tally {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** The printed lines about one file or check, and its share of the tally. */
export interface Report {
  readonly text: string
  readonly tally: Tally
  /** Of a file of tests. */
  readonly took?: { readonly file: string; readonly durationMs: number }
}

export const emptyTally: Tally = { passed: 0, failed: 0, skipped: 0 }

export function addTally(a: Tally, b: Tally): Tally {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }
}

export function describeTally({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

const isColourful = process.stdout.isTTY === true && !process.env.CI && !process.env.NO_COLOR

export function paint(colour: 'red' | 'green' | 'dim', text: string): string {
  return isColourful ? styleText(colour, text, { validateStream: false }) : text
}

export function describeDuration(durationMs: number): string {
  return durationMs < 1000 ? `${Math.round(durationMs)} ms` : `${(durationMs / 1000).toFixed(1)} s`
}

export function describeOutcome(name: string, tally: Tally, durationMs: number): string {
  const mark = tally.failed > 0 ? paint('red', '✗') : paint('green', '✓')
  return `${mark} ${name} ${paint('dim', `· ${describeTally(tally)} · ${describeDuration(durationMs)}`)}`
}

export function describeSlowest(reports: readonly Report[], most = 10): string[] {
  return reports
    .flatMap(({ took }) => took ?? [])
    .toSorted((a, b) => b.durationMs - a.durationMs)
    .slice(0, most)
    .map(({ file, durationMs }) => `${describeDuration(durationMs).padStart(8)}  ${file}`)
}

export function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '    ')
}

/** The head of a long text, with the number of lines that follow it. */
export function shorten(text: string, most = 40): string {
  const lines = text.split('\n')
  if (lines.length <= most) return text
  return [...lines.slice(0, most), indent(`… ${lines.length - most} lines more, above`)].join('\n')
}
