import { displayWidth, showControls } from './display-width.ts'

export interface Column {
  readonly name: string
  /** Numbers stand to the right. */
  readonly isNumber: boolean
}

export interface Table {
  readonly columns: readonly Column[]
  /** As PostgreSQL writes them. */
  readonly rows: readonly (readonly (string | null)[])[]
}

export const nullText = 'NULL'
const tabWidth = 8

/** A table as psql prints it; NULL is written out. */
export function printTable(table: Table, isExpanded = false): string {
  return isExpanded ? printRecords(table) : printRows(table)
}

function printRows({ columns, rows }: Table): string {
  const heads = columns.map(({ name }) => linesOf(name).join(' '))
  const cells = rows.map((row) => row.map(linesOf))
  const widths = heads.map((head, at) => widest([head, ...cells.flatMap((row) => row[at] ?? [])]))
  const head = heads.map((text, at) => ` ${centre(text, widths[at] ?? 0)} `).join('|')
  const rule = widths.map((width) => '-'.repeat(width + 2)).join('+') || '--'
  const body = cells.flatMap((row) => printRow(row, columns, widths))
  const lines = columns.length === 0 ? [rule] : [head, rule, ...body]
  return `${lines.join('\n')}\n(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})\n\n`
}

/** As many lines as the longest of its cells has; a cell that goes on is marked with a plus. */
function printRow(row: readonly string[][], columns: readonly Column[], widths: readonly number[]): string[] {
  const height = Math.max(...row.map(({ length }) => length))
  return Array.from({ length: height }, (_, line) =>
    row
      .map((cell, at) => {
        const isLast = at === row.length - 1
        const goesOn = line + 1 < cell.length
        const text = cell[line] ?? ''
        const gap = ' '.repeat((widths[at] ?? 0) - displayWidth(text))
        const isRight = columns[at]?.isNumber && line < cell.length
        const padded = isRight ? gap + text : isLast && !goesOn ? text : text + gap
        return ` ${padded}${goesOn ? '+' : isLast ? '' : ' '}`
      })
      .join('|'),
  )
}

function printRecords({ columns, rows }: Table): string {
  if (rows.length === 0) return '(0 rows)\n\n'
  const heads = columns.map(({ name }) => linesOf(name).join(' '))
  const cells = rows.map((row) => row.map(linesOf))
  const headWidth = widest(heads)
  const dataWidth = widest(cells.flat(2))
  const records = cells.map((row, at) =>
    [
      recordRule(at + 1, headWidth, dataWidth),
      ...row.flatMap((cell, column) => printField(heads[column] ?? '', cell, headWidth, dataWidth)),
    ].join('\n'),
  )
  return `${records.join('\n')}\n\n`
}

function printField(head: string, cell: readonly string[], headWidth: number, dataWidth: number): string[] {
  return cell.map((text, line) => {
    const name = pad(line === 0 ? head : '', headWidth)
    return `${name} | ${line + 1 < cell.length ? `${pad(text, dataWidth)}+` : text}`
  })
}

function recordRule(record: number, headWidth: number, dataWidth: number): string {
  const title = `-[ RECORD ${record} ]`
  const under = `${'-'.repeat(headWidth + 1)}+${'-'.repeat(dataWidth + 1)}`
  return title + under.slice(title.length)
}

function linesOf(value: string | null): string[] {
  if (value === null) return [nullText]
  return value.split(/\r?\n/).map((line) => showControls(expandTabs(line)))
}

function expandTabs(line: string): string {
  if (!line.includes('\t')) return line
  return line
    .split('\t')
    .reduce((left, right) => left + ' '.repeat(tabWidth - (displayWidth(left) % tabWidth)) + right)
}

function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, displayWidth(text)), 0)
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

function centre(text: string, width: number): string {
  const gap = width - displayWidth(text)
  return ' '.repeat(gap >> 1) + text + ' '.repeat((gap + 1) >> 1)
}
