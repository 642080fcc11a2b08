import { OperatorError } from '../kernel/operator-error.ts'
import type { Exemption } from '../masking/policy/exemptions.ts'
import { type Command, readArgs } from './command.ts'
import { askImpact, confirmImpact } from './impact.ts'
import { databaseHelp, lookOptions } from './look.ts'
import { apiHelp, databasePathOf, openMaskingApi } from './masking-api.ts'
import { type ObservationReport, type Rules, rulesOf, tellEnforcement } from './rules-client.ts'
import type { FilePolicy } from './rules-file.ts'
import { alignColumns, showText } from './table.ts'

const options = { ...lookOptions, since: { type: 'string' }, yes: { type: 'boolean', short: 'y' } } as const

export const policy: Command = {
  name: 'policy',
  summary: 'Show the masking policy of a database, turn it on or off, and exempt roles and people',
  help: `
Usage: masquerade policy show     -d DATABASE [--json]
       masquerade policy enable   -d DATABASE [--yes]
       masquerade policy observe  -d DATABASE
       masquerade policy disable  -d DATABASE
       masquerade policy report   -d DATABASE [--since TIME] [--json]
       masquerade policy exempt   -d DATABASE PRINCIPAL
       masquerade policy unexempt -d DATABASE PRINCIPAL [--yes]

${databaseHelp} PRINCIPAL is a database role, a user by userPrincipalName, an
application by its appId, or group:NAME, a group by its name, which is kept by its id. 'observe' enforces nothing and records, for 'report', which roles read
columns through the gateway that they would see masked; of direct connections it knows sessions and grants. 'enable' and 'unexempt' show which roles would lose raw values and ask on a terminal.
${apiHelp}

Exit codes: 0 done, 1 refused or not confirmed, 2 wrong use, 4 stored, and the database could not be changed.`,
  async run(args) {
    const { values, positionals } = readArgs('policy', args, { options, allowPositionals: true })
    const [verb = '', ...names] = positionals
    const run = verbs[verb]
    if (!run) return refuse(verb === '' ? 'Say what to do' : `There is no '${verb.slice(0, 100)}'`)
    const takesName = verb === 'exempt' || verb === 'unexempt'
    if (names.length !== (takesName ? 1 : 0))
      return refuse(takesName ? 'Name one principal' : `'${verb}' takes no name`)
    const path = databasePathOf(values.database, 'policy')
    return run(rulesOf(await openMaskingApi(values), path), values, names[0] ?? '')
  },
}

type Values = ReturnType<typeof readArgs<{ options: typeof options }>>['values']

const verbs: Readonly<Record<string, (rules: Rules, values: Values, name: string) => Promise<number>>> = {
  async show(rules, values) {
    const { policy: stored, rules: list, exemptions } = await rules.document()
    const { state, reason } = await rules.enforcement()
    if (values.json) {
      const shown = { ...stored, exemptions, rules: list.length, enforcement: { state, reason } }
      process.stdout.write(`${JSON.stringify(shown, null, 2)}\n`)
      return 0
    }
    const count = list.length === 1 ? '1 rule' : `${list.length} rules`
    const why = reason === null ? '' : `. ${showText(reason)}`
    const mode = stored.enforcementMode === 'Observe' ? ', observed only' : ''
    process.stdout.write(`${stored.dataMaskingState}${mode}, ${count}. In the database: ${state}${why}\n`)
    process.stdout.write(renderExemptions(exemptions))
    return 0
  },

  enable: (rules, values) =>
    change(rules, values, (stored) => ({
      ...stored,
      dataMaskingState: 'Enabled',
      enforcementMode: 'Enforce',
    })),

  observe: (rules, values) =>
    change(rules, values, (stored) => ({
      ...stored,
      dataMaskingState: 'Enabled',
      enforcementMode: 'Observe',
    })),

  async report(rules, values) {
    const report = await rules.report(values.since)
    process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : renderReport(report))
    return 0
  },

  disable: (rules, values) =>
    change(rules, values, (stored) => ({ ...stored, dataMaskingState: 'Disabled' })),

  async exempt(rules, values, name) {
    return change(rules, values, (stored) => ({
      ...stored,
      exemptPrincipals: [...stored.exemptPrincipals, name],
    }))
  },

  async unexempt(rules, values, name) {
    const { exemptions } = await rules.document()
    const wanted = name.replace(/^group:/, '').toLowerCase()
    const gone = exemptions.filter(({ entry, name: shown, id }) =>
      [entry, shown, id].some((one) => one?.toLowerCase() === wanted),
    )
    if (gone.length === 0)
      throw new OperatorError(`'${name.slice(0, 200)}' is not exempt. Nothing was changed.`)
    if (gone.length > 1)
      throw new OperatorError(
        `Several exemptions are called '${name.slice(0, 200)}'. Name one of: ${gone.map(({ entry }) => entry).join(', ')}.`,
      )
    return change(rules, values, (stored) => ({
      ...stored,
      exemptPrincipals: stored.exemptPrincipals.filter((entry) => entry !== gone[0]?.entry),
    }))
  },
}

/** Shows the impact of another policy, asks where roles would notice, and stores it. */
async function change(
  rules: Rules,
  values: Values,
  edit: (stored: FilePolicy) => FilePolicy,
): Promise<number> {
  const stored = await rules.document()
  const wanted = edit(stored.policy)
  const impact = await askImpact(rules, { policy: wanted })
  if (!(await confirmImpact(impact, values.database ?? '', values.yes ?? false))) {
    process.stdout.write('Nothing was changed.\n')
    return 1
  }
  const { exemptions } = await rules.replace({ rules: stored.rules, policy: wanted }, stored.tag)
  const mode = wanted.enforcementMode === 'Observe' ? ', and observed only' : ''
  process.stdout.write(`The policy is ${wanted.dataMaskingState}${mode}.\n${renderExemptions(exemptions)}`)
  return tellEnforcement(rules)
}

const words: Readonly<Record<Exemption['kind'], string>> = {
  DatabaseRole: 'database role',
  User: 'user',
  Group: 'group',
  ServicePrincipal: 'application',
  Everybody: 'every role: nothing is masked for anybody',
  Nothing: 'WARNING: no role, user, group or application has this name; it exempts no one',
  Unknown: 'the database does not answer: it may be a role',
}

export function renderExemptions(exemptions: readonly Exemption[]): string {
  if (exemptions.length === 0) return 'No one is exempt.\n'
  const rows = exemptions.map(({ entry, kind, name }) => [
    `  ${showText(name)}`,
    words[kind],
    entry === name ? '' : entry,
  ])
  return `Exempt:\n${alignColumns(rows)
    .map((row) => `${row.join('  ').trimEnd()}\n`)
    .join('')}`
}

function renderReport({ since, gateway, roles }: ObservationReport): string {
  const touched = gateway.map(({ role, column, statements, last }) => [
    `  ${showText(role)}`,
    showText(column),
    `${statements} statements`,
    `last ${last}`,
  ])
  const direct = roles.flatMap(({ role, sessions, relations }) =>
    relations.map(({ relation, columns }) => [
      `  ${showText(role)}`,
      `${showText(relation)} (${showText(columns.join(', '))})`,
      sessions.length === 0 ? 'no session now' : `${sessions.length} sessions now`,
    ]),
  )
  const table = (rows: string[][]) => alignColumns(rows).map((row) => `${row.join('  ').trimEnd()}\n`)
  return [
    `Read through the gateway since ${since}, and masked once the policy is enforced:\n`,
    ...(touched.length === 0 ? ['  nothing\n'] : table(touched)),
    'Roles that can read raw values now, and could not any more:\n',
    ...(direct.length === 0 ? ['  none\n'] : table(direct)),
  ].join('')
}

function refuse(reason: string): never {
  throw new OperatorError(`${reason}. See 'masquerade help policy'.`, { exitCode: 2 })
}
