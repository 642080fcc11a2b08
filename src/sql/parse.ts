import { checkText, type Limits } from './limits.ts'
import { SteadyParser } from './parser-instance.ts'
import { refuseSql } from './refusal.ts'
import type { Node } from './syntax-tree.ts'

/** Loaded with this module, so that no caller can come before it. */
const parser = new SteadyParser()
await parser.load()

export interface Statement {
  readonly stmt?: Node
}

/** The syntax trees of the statements in a text, by PostgreSQL's own parser. Refuses what is no SQL or over a limit. */
export function parseStatements(text: string, limits: Limits): readonly Statement[] {
  // The parser would read up to a zero byte alone, and halves of surrogate pairs have no bytes in UTF-8.
  if (text.includes('\0') || !text.isWellFormed()) refuseSql('NotSql')
  checkText(text, limits)
  // A text without any byte breaks the parser.
  if (text === '') return []
  const json = parser.parse(text)
  if (json === undefined) refuseSql(parser.isLoaded ? 'NotSql' : 'ParserLost')
  checkNodes(json, limits)
  return JSON.parse(json).stmts ?? []
}

function checkNodes(json: string, { nodes }: Limits): void {
  let count = 0
  for (let at = json.indexOf('{'); at >= 0; at = json.indexOf('{', at + 1))
    if (++count > nodes) refuseSql('TooManyNodes')
}
