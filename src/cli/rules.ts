import { readFile, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { OperatorError } from '../kernel/operator-error.ts'
import { type Command, readArgs } from './command.ts'
import { askImpact, confirmImpact } from './impact.ts'
import { maskOptions, readMaskProperties } from './mask-options.ts'
import { apiHelp, apiOptions, databasePathOf, openMaskingApi, Refused } from './masking-api.ts'
import { applyRules } from './rules-apply.ts'
import { rulesOf, tellEnforcement } from './rules-client.ts'
import { describeRule } from './rules-diff.ts'
import { type FileRule, formatRulesFile, parseRulesFile } from './rules-file.ts'

const options = {
  ...apiOptions,
  database: { type: 'string', short: 'd' },
  file: { type: 'string', short: 'f' },
  json: { type: 'boolean' },
  yes: { type: 'boolean', short: 'y' },
  prune: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  ...maskOptions,
} as const

export const rules: Command = {
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

Exit codes: 0 done, 1 refused or not confirmed, 2 wrong use, 4 stored, and the database could not be changed.`,
  async run(args) {
    const { values, positionals } = readArgs('rules', args, { options, allowPositionals: true })
    const [verb = '', ...names] = positionals
    const run = verbs[verb]
    if (!run) return refuse(verb === '' ? 'Say what to do' : `There is no '${verb}'`)
    if (names.length !== (verb === 'set' || verb === 'delete' ? 1 : 0))
      return refuse(verb === 'set' || verb === 'delete' ? 'Name one rule' : `'${verb}' takes no name`)
    return run(values, names[0] ?? '')
  },
}

type Values = ReturnType<typeof readArgs<{ options: typeof options }>>['values']

const verbs: Readonly<Record<string, (values: Values, name: string) => Promise<number>>> = {
  async list(values) {
    const found = await (await open(values)).list()
    const lines = found.map((rule) => `${rule.name}\t${describeRule(rule)}\n`)
    process.stdout.write(values.json ? `${JSON.stringify(found, null, 2)}\n` : lines.join(''))
    return 0
  },

  async set(values, name) {
    const rule = readRule(values, name)
    const target = await open(values)
    const others = (await target.document()).rules.filter((one) => !isSameName(one.name, name))
    const impact = await askImpact(target, { rules: [...others, rule] }).catch(ignoreRefusal)
    if (!(await confirmImpact(impact, values.database ?? '', values.yes ?? false))) return leave()
    const state = await target.put(rule)
    process.stdout.write(`${name} is set (${state ?? 'unknown state'}).\n`)
    return tellEnforcement(target)
  },

  async delete(values, name) {
    const target = await open(values)
    if (!(await target.remove(name))) throw new OperatorError(`There is no rule '${name}'.`)
    process.stdout.write(`${name} is deleted.\n`)
    return tellEnforcement(target)
  },

  async apply(values) {
    if (values.file === undefined) return refuse('Name the file: -f FILE')
    const content = values.file === '-' ? await text(process.stdin) : await readFileOrRefuse(values.file)
    const file = parseRulesFile(content, values.file)
    const { prune = false, yes = false, 'dry-run': dryRun = false } = values
    const database = values.database ?? file.database
    const target = await open({ ...values, database })
    return applyRules(target, file, { file: values.file, database: database ?? '', prune, yes, dryRun })
  },

  async export(values) {
    const found = await open(values)
    const { database = '' } = values
    const content = formatRulesFile({ database, policy: await found.policy(), rules: await found.list() })
    if (values.file === undefined || values.file === '-') process.stdout.write(content)
    else await writeFile(values.file, content)
    return 0
  },
}

/** The service says what is wrong with the rule when it is sent by itself, in fewer words. */
function ignoreRefusal(error: unknown): null {
  if (error instanceof Refused) return null
  throw error
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

function leave(): number {
  process.stdout.write('Nothing was changed.\n')
  return 1
}

async function open(values: Omit<Values, 'database'> & { readonly database?: string | undefined }) {
  const path = databasePathOf(values.database, 'rules')
  return rulesOf(await openMaskingApi(values), path)
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

async function readFileOrRefuse(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`${file} cannot be read (${(cause as NodeJS.ErrnoException).code}).`, { cause })
  }
}

function refuse(reason: string): never {
  throw new OperatorError(`${reason}. See 'masquerade help rules'.`, { exitCode: 2 })
}
