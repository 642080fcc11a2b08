import type { Clause } from '../support/clause.ts'
import type { SourceFile } from './tree.ts'

export type Exception = { ids: string[]; reason: string }

const entry = /^- \*\*([^*]+)\*\* +(\S.*(?:\n {2}\S.*)*)/gm
const clauseCall = /^\s*clause\(\s*['"`]([A-Z]+-\d+)['"`]/gm

/** Reads spec/exceptions.md: `- **DIR-01 … DIR-09, DIR-12** reason`. */
export function parseExceptions(markdown: string, known: string[]): Exception[] {
  return [...markdown.matchAll(entry)].map((match) => ({
    ids: (match[1] ?? '').split(',').flatMap((part) => expandRange(part, known)),
    reason: (match[2] ?? '').replace(/\s+/g, ' '),
  }))
}

function expandRange(part: string, known: string[]): string[] {
  const [first = '', last = first] = part.split('…').map((id) => id.trim())
  for (const id of [first, last])
    if (!known.includes(id)) throw new Error(`exceptions name '${id}', which is not a clause`)
  const [prefix, from, to] = [seriesOf(first), numberOf(first), numberOf(last)]
  if (prefix !== seriesOf(last) || from > to) throw new Error(`'${part.trim()}' is not a range`)
  return known.filter((id) => seriesOf(id) === prefix && numberOf(id) >= from && numberOf(id) <= to)
}

function seriesOf(id: string): string {
  return id.replace(/-\d+$/, '')
}

function numberOf(id: string): number {
  return Number(id.replace(/^.*-/, ''))
}

/** The ids that the tests in these files are about. */
export function listTestedIds(files: SourceFile[]): Set<string> {
  return new Set(files.flatMap((file) => [...file.text.matchAll(clauseCall)].map((match) => match[1] ?? '')))
}

/** What is wrong between clauses, tests and exceptions, one line each. */
export function findGaps(known: Clause[], tested: Set<string>, exceptions: Exception[]): string[] {
  const excepted = exceptions.flatMap((one) => one.ids)
  const ids = known.map((one) => one.id)
  return [
    ...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `${id} is the id of two clauses`),
    ...excepted.filter((id, i) => excepted.indexOf(id) !== i).map((id) => `${id} is excepted twice`),
    ...ids
      .filter((id) => !tested.has(id) && !excepted.includes(id))
      .map((id) => `${id} has no test and no exception`),
    ...excepted
      .filter((id) => tested.has(id))
      .map((id) => `${id} has a test: take it out of spec/exceptions.md`),
    ...[...tested].filter((id) => !ids.includes(id)).map((id) => `${id} is tested and not a clause`),
  ]
}
