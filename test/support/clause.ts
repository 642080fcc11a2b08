import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

export type Table = { header: string[]; rows: string[][] }

export type Clause = { id: string; text: string; file: string; line: number; table?: Table }

/** The permissions that admit a caller: alternatives, each a list needed together. None: not supported. */
export type Alternatives = string[][]

export type PermissionRow = {
  subject: string
  delegated: Alternatives
  personal: Alternatives
  application: Alternatives
}

const specDir = join(import.meta.dirname, '../../spec')
const clauseStart = /^- \*\*([A-Z]+-\d+)\*\* +(\S.*)$/
const shortestQuote = 40

/** Reads the clauses out of one file of spec/, in the form its head describes. */
export function parseClauses(markdown: string, file: string): Clause[] {
  const found: Clause[] = []
  let open: Clause | undefined
  let inText = false
  for (const [index, line] of markdown.split('\n').entries()) {
    const start = clauseStart.exec(line)
    if (start?.[1] && start[2]) {
      open = { id: start[1], text: start[2].trim(), file, line: index + 1 }
      inText = true
      found.push(open)
    } else if (line.trim() === '') inText = false
    else if (open && inText) open.text = normalise(`${open.text} ${line}`)
    else if (open && line.startsWith('  |')) addRow(open, line)
    else open = undefined
  }
  return found
}

function addRow(clause: Clause, line: string): void {
  const cells = splitRow(line)
  if (cells.every((cell) => /^:?-+:?$/.test(cell))) return
  if (!clause.table) clause.table = { header: cells, rows: [] }
  else if (cells.length === clause.table.header.length) clause.table.rows.push(cells)
  else throw new Error(`${clause.id}: a row has ${cells.length} cells: ${line.trim()}`)
}

function splitRow(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '')
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim())
}

function normalise(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

let all: Clause[] | undefined

/** Every clause of spec/*.md, in the order of the files. */
export function clauses(): Clause[] {
  all ??= readdirSync(specDir)
    .filter((name) => name.endsWith('.md') && name !== 'exceptions.md')
    .sort()
    .flatMap((name) => parseClauses(readFileSync(join(specDir, name), 'utf8'), `spec/${name}`))
  return all
}

export function findClause(id: string): Clause {
  const found = clauses().find((one) => one.id === id)
  if (!found) throw new Error(`${id} is not a clause of spec/`)
  return found
}

/** The fault of a quotation of a clause, if it has one. */
export function checkQuote(id: string, quote: string, known: Clause[]): string | undefined {
  const found = known.find((one) => one.id === id)
  if (!found) return `${id} is not a clause of spec/`
  const said = normalise(quote)
  if (said === found.text) return undefined
  const start = said.endsWith('…') ? said.slice(0, -1).trimEnd() : ''
  if (start && found.text.startsWith(start)) {
    if (start.length >= shortestQuote) return undefined
    return `${id} is quoted too briefly: at least ${shortestQuote} characters, or all of it`
  }
  return `${id} says something else (${found.file}:${found.line}):\n  ${found.text}`
}

/**
 * A test of one clause, which it quotes: the whole text, or its beginning followed by `…`.
 * A quotation that is not in spec/ is a test that fails, so that clause and test change together.
 */
export function clause(id: string, quote: string, run: (t: TestContext) => void | Promise<void>): void {
  const wrong = checkQuote(id, quote, clauses())
  test(`${id} ${normalise(quote)}`, (t) => {
    if (wrong) throw new Error(wrong)
    return run(t)
  })
}

/** The rows of the table in a clause, each as a record by column heading. */
export function tableRows(id: string): Record<string, string>[] {
  const { table } = findClause(id)
  if (!table) throw new Error(`${id} holds no table`)
  return table.rows.map((row) => Object.fromEntries(table.header.map((name, i) => [name, row[i] ?? ''])))
}

/** The permission table in a clause; a row for two subjects counts as two rows. */
export function permissionTable(id: string): PermissionRow[] {
  const { table } = findClause(id)
  if (!table) throw new Error(`${id} holds no table`)
  return parsePermissions(table)
}

export function parsePermissions(table: Table): PermissionRow[] {
  const columns = table.header.slice(1).map((name) => ({
    personal: /personal/i.test(name),
    delegated: /delegated/i.test(name) && !/personal/i.test(name),
    application: /application/i.test(name),
  }))
  if (!columns.some((column) => column.delegated) || !columns.some((column) => column.application))
    throw new Error(`not a permission table: ${table.header.join(' | ')}`)
  return table.rows.flatMap((row) => {
    const parsed = { delegated: [], personal: [], application: [] } as Omit<PermissionRow, 'subject'>
    for (const [i, column] of columns.entries()) {
      const cell = row[i + 1] ?? ''
      const allowed = cell === 'same as delegated' ? parsed.delegated : parseAlternatives(cell)
      if (column.delegated) parsed.delegated = allowed
      if (column.personal) parsed.personal = allowed
      if (column.application) parsed.application = allowed
    }
    return (row[0] ?? '').split(', ').map((subject) => ({ subject, ...parsed }))
  })
}

function parseAlternatives(cell: string): Alternatives {
  if (cell === 'Not supported') return []
  return cell.split(/[,|]/).map((alternative) =>
    alternative.split(' and ').map((name) => {
      if (!/^[A-Za-z]+(\.[A-Za-z]+)+$/.test(name.trim())) throw new Error(`not a permission: '${name}'`)
      return name.trim()
    }),
  )
}
