import { writeFile } from 'node:fs/promises'
import { type Document, isMap, isSeq, parseDocument } from 'yaml'
import { countOf } from '../kernel/count-of.ts'
import { optionalFields } from '../masking/rules/rule-fields.ts'
import { apiHelp, databasePathOf, openApi } from './api.ts'
import { type Command, readArgs, refuseUse } from './command.ts'
import { databaseHelp, lookOptions, policyPathOf, requireBound } from './look.ts'
import { applyRules } from './rules-apply.ts'
import { rulesOf } from './rules-client.ts'
import { type FileRule, formatRulesFile } from './rules-file.ts'
import { print, report } from './surroundings.ts'
import { alignColumns, showText } from './table.ts'

interface Shown extends Omit<FileRule, 'name' | (typeof optionalFields)[number]> {
  readonly confidence: number
  readonly reasons: readonly string[]
}

type Recommended = Shown & Readonly<Record<(typeof optionalFields)[number], string | null>>

const options = {
  ...lookOptions,
  yaml: { type: 'string' },
  apply: { type: 'boolean' },
  yes: { type: 'boolean', short: 'y' },
} as const

export const recommendations: Command = {
  name: 'recommendations',
  summary: 'List columns without a rule that look sensitive, and write or apply rules for them',
  help: `
Usage: masquerade recommendations -d DATABASE [--yaml FILE | --apply [--yes]] [--json]

Looks at the names of all columns and at a few rows of each table, and lists what looks like an e-mail address, a card
number, a salary and so on, with the masking function that suits it. Keys of JSON documents, elements of arrays and the
words of longer texts are looked at as well; such a column is masked as a whole. No value is shown, kept or logged.

--yaml writes a file that 'masquerade rules apply' takes ('-': standard output), to be read and cut by a person.
--apply shows the impact, asks, and adds the rules; with --yes it does not ask. ${databaseHelp}
${apiHelp}

Exit codes: 0 done, 1 refused or not confirmed, 2 wrong use, 4 stored, and not enforced (Pending or Failed).`,
  options,
  async run(args) {
    const { values } = readArgs('recommendations', args, { options })
    const { database = '', yaml, apply } = values
    if (apply && yaml !== undefined)
      return refuseUse('recommendations', '--yaml and --apply exclude each other')
    const path = policyPathOf(values.database, 'recommendations')
    const api = await openApi(values)
    const { value } = (await api.send<{ value: Recommended[] }>('GET', `${path}/recommendations`)).body
    const rules = rulesOf(api, databasePathOf(values.database, 'recommendations'))
    if (value.length === 0) await requireBound(api, path, database)
    if (apply && value.length > 0) {
      const file = { rules: nameRules(value, await rules.list()) }
      return applyRules(rules, file, { ...values, file: 'recommendations', isAddition: true })
    }
    if (yaml === undefined) {
      report(values, value, `${inWords(value)}\n`)
      return 0
    }
    const content = formatFile(database, nameRules(value, await rules.list()), value)
    if (yaml === '-') print(content)
    else {
      await writeFile(yaml, content)
      const words = `${countOf(value.length, 'rule is', 'rules are')} in ${yaml}. Read it, then: masquerade rules apply -f ${yaml}\n`
      report(values, value, words)
    }
    return 0
  },
}

const longestName = 100

/** Rules for the columns. A name that a rule has already would change that rule. */
function nameRules(found: readonly Recommended[], there: readonly FileRule[]): FileRule[] {
  const taken = new Set(there.map(({ name }) => name.toLowerCase()))
  return found.map((one) => {
    const { schemaName, tableName, columnName, maskingFunction } = one
    const parts = schemaName === 'public' ? [tableName, columnName] : [schemaName, tableName, columnName]
    const plain = [...parts.join('.').replaceAll(/\p{Cc}/gu, ' ')].slice(0, longestName).join('')
    let name = plain
    for (let at = 2; taken.has(name.toLowerCase()); at++) name = `${plain}-${at}`
    taken.add(name.toLowerCase())
    const set = optionalFields.flatMap((field) => (one[field] === null ? [] : [[field, one[field]]]))
    return { name, schemaName, tableName, columnName, maskingFunction, ...Object.fromEntries(set) }
  })
}

/** Each rule is preceded by the reasons for it. */
function formatFile(database: string, rules: readonly FileRule[], found: readonly Recommended[]): string {
  const document: Document = parseDocument(formatRulesFile({ database, rules }))
  const items = document.get('rules')
  if (isSeq(items))
    for (const [at, item] of items.items.entries())
      if (isMap(item)) item.commentBefore = ` ${describe(found[at])}`
  return document.toString({ lineWidth: 0 })
}

function describe(one: Shown | undefined): string {
  return one ? `${Math.round(one.confidence * 100)} %: ${one.reasons.join('; ')}` : ''
}

function inWords(found: readonly Shown[]): string {
  if (found.length === 0) return 'No column without a rule looks sensitive.'
  const rows = found.map(({ schemaName, tableName, columnName, maskingFunction, confidence, reasons }) => [
    `${Math.round(confidence * 100)} %`,
    showText(`${schemaName}.${tableName}.${columnName}`),
    maskingFunction,
    reasons.join('; '),
  ])
  return alignColumns(rows, new Set([0]))
    .map((row) => row.join('  ').trimEnd())
    .join('\n')
}
