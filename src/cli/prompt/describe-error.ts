import { displayWidth, showControls } from './display-width.ts'

/** What PostgreSQL says, as the driver passes it on. */
export interface Said {
  readonly severity?: string | undefined
  readonly message: string
  readonly code?: string | undefined
  readonly detail?: string | undefined
  readonly hint?: string | undefined
  readonly position?: string | undefined
  readonly where?: string | undefined
}

const widestLine = 60

/** An error or a notice as psql shows it, pointing into the statement. */
export function describeError(said: Said, statement = ''): string {
  const lines = [`${said.severity ?? 'ERROR'}:  ${clean(said.message)}`]
  const position = Number(said.position)
  if (position > 0) lines.push(...pointAt(statement, position))
  if (said.detail) lines.push(`DETAIL:  ${clean(said.detail)}`)
  if (said.hint) lines.push(`HINT:  ${clean(said.hint)}`)
  if (said.where && said.severity !== 'NOTICE') lines.push(`CONTEXT:  ${clean(said.where)}`)
  return `${lines.join('\n')}\n`
}

/** PostgreSQL counts characters from 1. */
function pointAt(statement: string, position: number): string[] {
  const chars = [...statement]
  if (position > chars.length + 1) return []
  const before = chars.slice(0, position - 1).join('')
  const number = before.split('\n').length
  const whole = statement.split('\n')[number - 1] ?? ''
  const { text, column } = cut(oneLine(whole), oneLine(before.slice(before.lastIndexOf('\n') + 1)))
  const label = `LINE ${number}: `
  return [label + text, `${' '.repeat(label.length + column)}^`]
}

/** A long line is cut to what stands around the place. */
function cut(line: string, before: string): { text: string; column: number } {
  if (displayWidth(line) <= widestLine) return { text: line, column: displayWidth(before) }
  const chars = [...line]
  const at = [...before].length
  const from = Math.max(0, Math.min(at - widestLine / 2, chars.length - widestLine))
  const text = chars.slice(from, from + widestLine).join('')
  const head = from > 0 ? '...' : ''
  const tail = from + widestLine < chars.length ? '...' : ''
  return {
    text: head + text + tail,
    column: head.length + displayWidth(chars.slice(from, at).join('')),
  }
}

function oneLine(text: string): string {
  return showControls(text.replaceAll('\t', ' ').replace(/\r$/, ''))
}

function clean(text: string): string {
  return text.split('\n').map(showControls).join('\n')
}
