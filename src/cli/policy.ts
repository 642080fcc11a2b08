import { countOf } from '../kernel/count-of.ts'
import { nameState } from '../kernel/enforcement-state.ts'
import { foldDisplayName } from '../kernel/fold-display-name.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { trimDisplayName } from '../kernel/trim-display-name.ts'
import { isUuid } from '../kernel/uuid.ts'
import type { Exemption } from '../masking/policy/exemptions.ts'
import { apiHelp, databasePathOf, openApi } from './api.ts'
import { commandOf, refuseUse, type ValuesOf } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { askImpact, confirmImpact, leave } from './impact.ts'
import { databaseHelp, lookOptions } from './look.ts'
import { type ObservationReport, type Rules, rulesOf, tellEnforcement } from './rules-client.ts'
import { describeSettings } from './rules-diff.ts'
import type { FilePolicy } from './rules-file.ts'
import { report } from './surroundings.ts'
import { renderRows, showText } from './table.ts'

const options = { ...lookOptions, since: { type: 'string' }, yes: { type: 'boolean', short: 'y' } } as const

type Values = ValuesOf<typeof options>

const verbs: Readonly<Record<string, (rules: Rules, values: Values, name: string) => Promise<number>>> = {
  async show(rules, values) {
    const { policy: stored, rules: list, exemptions } = await rules.document()
    const { state, reason, notes } = await rules.enforcement()
    const why = reason === null ? '' : `. ${showText(reason)}`
    const now = nameState(state)
    report(
      values,
      { ...stored, exemptions, rules: list.length, enforcement: { state, reason, notes } },
      `${stored.dataMaskingState}${describeSettings(stored)}, ${countOf(list.length, 'rule')}. In the database: ${now}${why}\n${renderExemptions(exemptions)}${renderNotes(notes)}`,
    )
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
    const observed = await rules.report(values.since)
    report(values, observed, renderReport(observed))
    return 0
  },

  disable: (rules, values) =>
    change(rules, values, (stored) => ({ ...stored, dataMaskingState: 'Disabled' })),

  async 'not-contained'(rules, values, setting) {
    if (setting !== 'report' && setting !== 'refuse')
      return refuseUse('policy', `'${setting.slice(0, 100)}' is neither 'report' nor 'refuse'`)
    return change(rules, values, (stored) => ({ ...stored, notContained: setting }))
  },

  async exempt(rules, values, name) {
    return change(rules, values, (stored) => ({
      ...stored,
      exemptPrincipals: [...stored.exemptPrincipals, name],
    }))
  },

  async unexempt(rules, values, name) {
    const { exemptions } = await rules.document()
    const plain = trimDisplayName(name.replace(/^group:/i, ''))
    const wanted = foldDisplayName(plain)
    // A stored `group:NAME` is text (MASK-243), and leaves the list by its very spelling.
    const texts = exemptions.filter(({ entry }) => plain !== name && entry === name)
    // A UUID is an id alone (DIR-350).
    const named = exemptions.filter(({ entry, name: shown, id }) =>
      [entry, isUuid(plain) ? null : shown, id].some(
        (one) => one !== null && foldDisplayName(one) === wanted,
      ),
    )
    const gone = texts.length > 0 ? texts : named
    if (gone.length === 0)
      throw new OperatorError(`'${name.slice(0, 200)}' is not exempt. Nothing was changed.`, {
        exitCode: exitCodes.notFound,
      })
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

const takes: Readonly<Record<string, readonly string[]>> = {
  exempt: ['PRINCIPAL'],
  unexempt: ['PRINCIPAL'],
  'not-contained': ['SETTING'],
}

export const policy = commandOf({
  name: 'policy',
  summary: 'Show the masking policy of a database, turn it on or off, and exempt roles and people',
  help: `
Usage: masquerade policy show     -d DATABASE
       masquerade policy enable   -d DATABASE [--yes]
       masquerade policy observe  -d DATABASE
       masquerade policy disable  -d DATABASE
       masquerade policy report   -d DATABASE [--since TIME]
       masquerade policy exempt   -d DATABASE PRINCIPAL
       masquerade policy unexempt -d DATABASE PRINCIPAL [--yes]
       masquerade policy not-contained -d DATABASE report|refuse

${databaseHelp} PRINCIPAL is a database role, a user by userPrincipalName, an
application by its appId, or group:NAME, a group by its name, which is kept by its id. 'observe' enforces nothing and records, for 'report', which roles read
columns through the gateway that they would see masked; of direct connections it knows sessions and grants. 'enable' and 'unexempt' show which roles would lose raw values and ask on a terminal.
'not-contained refuse' refuses later changes that add masks or end exemptions while 'masquerade containment' lists a role.
${apiHelp}

Exit codes: 0 done, 1 refused or not confirmed, 2 wrong use, 4 stored, and not enforced (Pending or Failed), 5 not exempt.`,
  options,
  verbs: Object.fromEntries(
    Object.entries(verbs).map(([verb, run]) => [
      verb,
      {
        takes: takes[verb] ?? [],
        async run(values: Values, name = '') {
          const path = databasePathOf(values.database, 'policy')
          return run(rulesOf(await openApi(values), path), values, name)
        },
      },
    ]),
  ),
})

/** Shows the impact of another policy, asks where roles would notice, and stores it. */
async function change(
  rules: Rules,
  values: Values,
  edit: (stored: FilePolicy) => FilePolicy,
): Promise<number> {
  const stored = await rules.document()
  const wanted = edit(stored.policy)
  const impact = await askImpact(rules, { policy: wanted })
  if (!(await confirmImpact(impact, values))) return leave(values)
  const { exemptions } = await rules.replace({ policy: wanted }, stored.tag)
  const mode = wanted.enforcementMode === 'Observe' ? ', and observed only' : ''
  const refusal =
    wanted.notContained === 'refuse' ? ' It refuses masks that would not contain every role.' : ''
  const words = `The policy is ${wanted.dataMaskingState}${mode}.${refusal}\n${renderExemptions(exemptions)}`
  report(values, { ...wanted, exemptions }, words)
  return tellEnforcement(rules)
}

function renderNotes(notes: readonly { readonly message: string }[]): string {
  if (notes.length === 0) return ''
  return `Notes:\n${notes.map(({ message }) => `  ${showText(message)}\n`).join('')}`
}

const words: Readonly<Record<Exemption['kind'], string>> = {
  DatabaseRole: 'database role',
  User: 'user',
  Group: 'group',
  ServicePrincipal: 'application',
  Everybody: 'every role: nothing is masked',
  Nothing: 'WARNING: no role, user, group or application has this name; it exempts no one',
  Unknown: 'the database does not answer: it may be a role',
}

export function renderExemptions(exemptions: readonly Exemption[]): string {
  if (exemptions.length === 0) return 'No one is exempt.\n'
  const rows = exemptions.map(({ entry, kind, name, roleNotExempt }) => [
    `  ${showText(name)}`,
    roleNotExempt ? describeRefused(kind) : words[kind],
    entry === name ? '' : entry,
  ])
  return `Exempt:\n${renderRows(rows)}`
}

/** The entry has the name of a database role, which it does not exempt. */
function describeRefused(kind: Exemption['kind']): string {
  return kind === 'DatabaseRole'
    ? 'WARNING: this database role is not the one that the entry meant; it exempts no one'
    : `${words[kind]}; WARNING: the database role of this name is not exempt`
}

function renderReport({ since, gateway, roles }: ObservationReport): string {
  const touched = gateway.map(({ role, column, statements, last }) => [
    `  ${showText(role)}`,
    showText(column),
    countOf(statements, 'statement'),
    `last ${last}`,
  ])
  const direct = roles.flatMap(({ role, sessions, relations }) =>
    relations.map(({ relation, columns }) => [
      `  ${showText(role)}`,
      `${showText(relation)} (${showText(columns.join(', '))})`,
      sessions.length === 0 ? 'no session now' : `${countOf(sessions.length, 'session')} now`,
    ]),
  )
  return [
    `Read through the gateway since ${since}, and masked once the policy is enforced:\n`,
    ...(touched.length === 0 ? ['  nothing\n'] : [renderRows(touched)]),
    'Roles that can read raw values now, and could not any more:\n',
    ...(direct.length === 0 ? ['  none\n'] : [renderRows(direct)]),
  ].join('')
}
