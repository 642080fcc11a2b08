import { writeFile } from 'node:fs/promises'
import { nameState } from '../kernel/enforcement-state.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { apiHelp, apiOptions, databasePathOf, openApi, Refused } from './api.ts'
import { commandOf, refuseUse, type ValuesOf } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { askImpact, confirmImpact, leave } from './impact.ts'
import { readInput } from './input.ts'
import { maskOptions, readMaskProperties } from './mask-options.ts'
import { applyRules } from './rules-apply.ts'
import { rulesOf, tellEnforcement } from './rules-client.ts'
import { describeRule } from './rules-diff.ts'
import { type FileRule, formatRulesFile, parseRulesFile } from './rules-file.ts'
import { report, warn } from './surroundings.ts'
import { showText } from './table.ts'

const options = {
  ...apiOptions,
  database: { type: 'string', short: 'd' },
  file: { type: 'string', short: 'f' },
  yes: { type: 'boolean', short: 'y' },
  prune: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  ...maskOptions,
} as const

export const rules = commandOf({
  name: 'rules',
  summary: 'List, set, delete, apply and export the masking rules of a database',
  help: `
Usage: masquerade rules list   -d DATABASE [--json]
       masquerade rules set    -d DATABASE NAME --column SCHEMA.TABLE.COLUMN --function FUNCTION [options] [--yes]
       masquerade rules delete -d DATABASE NAME
       masquerade rules apply  [-d DATABASE] -f FILE [--prune] [--dry-run] [--yes]
       masquerade rules export -d DATABASE [-f FILE]

DATABASE is subscription/group/server/database, or a resource id. FUNCTION is one of CCN, Default, Email, Number, SSN
and Text; Number takes --from and --to, Text takes --prefix, --suffix and --replacement. A part of a column that holds
a dot is put in double quotes: 'public."odd.table".email'.

'apply' makes the rules those of a YAML file, all of them or none: it shows the difference and the impact and asks, or
does it at once with --yes. Rules that the file does not have stay, unless --prune is said. --dry-run checks the same and
prints the statements that would run. 'export' writes such a file ('-' or none: standard output). 'set' asks when roles
would lose raw values, or sessions would end.

  database: sub-1/group-1/main/shop
  policy: { dataMaskingState: Enabled, exemptPrincipals: [auditor] }
  rules:
    - { name: mail, schemaName: public, tableName: person, columnName: email, maskingFunction: Email }
${apiHelp}

Exit codes: 0 done, 1 refused or not confirmed, 2 wrong use, 4 stored, and not enforced (Pending or Failed), 5 no such rule.`,
  options,
  verbs: {
    list: { run: list },
    set: { takes: ['RULE'], run: set },
    delete: { takes: ['RULE'], run: remove },
    apply: { run: apply },
    export: { run: exportRules },
  },
})

type Values = ValuesOf<typeof options>

async function list(values: Values): Promise<number> {
  const target = await open(values)
  const found = await target.list()
  const lines = found.map((rule) => `${rule.name}\t${describeRule(rule)}\n`)
  report(values, found, lines.join('') || 'There is no rule.\n')
  if (found.length === 0 && (await target.enforcement()).state === 'NotBound')
    warn(`${showText(values.database ?? '')} is not bound to a PostgreSQL.\n`)
  return 0
}

async function set(values: Values, name: string): Promise<number> {
  const rule = readRule(values, name)
  const target = await open(values)
  const others = (await target.document()).rules.filter((one) => !isSameName(one.name, name))
  const impact = await askImpact(target, { rules: [...others, rule] }).catch(ignoreRefusal)
  if (!(await confirmImpact(impact, values))) return leave(values)
  const state = await target.put(rule)
  report(values, { ...rule, state }, `${name} is set (${nameState(state ?? 'unknown state')}).\n`)
  return tellEnforcement(target)
}

async function remove(values: Values, name: string): Promise<number> {
  const target = await open(values)
  if (!(await target.remove(name)))
    throw new OperatorError(`There is no rule '${name}'.`, { exitCode: exitCodes.notFound })
  report(values, { name, deleted: true }, `${name} is deleted.\n`)
  return tellEnforcement(target)
}

async function apply(values: Values): Promise<number> {
  if (values.file === undefined) return refuse('Name the file: -f FILE')
  const file = parseRulesFile(await readInput(values.file), values.file)
  const database = values.database ?? file.database
  const target = await open({ ...values, database })
  return applyRules(target, file, { ...values, file: values.file, database })
}

async function exportRules(values: Values): Promise<number> {
  const found = await open(values)
  const { database = '' } = values
  const { policy, rules } = await found.document()
  const file = { database, policy, rules }
  if (values.file === undefined || values.file === '-') report(values, file, formatRulesFile(file))
  else await writeFile(values.file, formatRulesFile(file))
  return 0
}

/** The service says what is wrong with the rule when it is sent by itself, in fewer words. */
function ignoreRefusal(error: unknown): null {
  if (error instanceof Refused) return null
  throw error
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

async function open(values: Omit<Values, 'database'> & { readonly database?: string | undefined }) {
  const path = databasePathOf(values.database, 'rules')
  return rulesOf(await openApi(values), path)
}

function readRule(values: Values, name: string): FileRule {
  if (values.column === undefined || values.function === undefined)
    return refuse('--column and --function are needed')
  const [schemaName, tableName, columnName, ...more] = splitColumn(values.column)
  if (!schemaName || !tableName || !columnName || more.length > 0)
    return refuse(`--column must be SCHEMA.TABLE.COLUMN`)
  return {
    name,
    schemaName,
    tableName,
    columnName,
    maskingFunction: values.function,
    ...readMaskProperties(values),
  }
}

/** At the dots, but for those in double quotes; a quote in quotes is doubled. */
export function splitColumn(column: string): string[] {
  if (!/^(?:"(?:[^"]|"")+"|[^".]+)(?:\.(?:"(?:[^"]|"")+"|[^".]+))*$/.test(column)) return []
  return [...column.matchAll(/"((?:[^"]|"")+)"|[^".]+/g)].map(([whole, quoted]) =>
    quoted === undefined ? whole : quoted.replaceAll('""', '"'),
  )
}

function refuse(reason: string): never {
  return refuseUse('rules', reason)
}
