import type { Impact } from '../contracts/inspection.ts'
import { countOf } from '../kernel/count-of.ts'
import { Refused } from './api.ts'
import { exitCodes } from './exit-codes.ts'
import { isConfirmed } from './input.ts'
import { quoteArgument } from './quote-argument.ts'
import type { DocumentChange, ProposedContainment, ProposedImpact, Rules } from './rules-client.ts'
import { announce, warn } from './surroundings.ts'
import { alignColumns, showText } from './table.ts'

const mostNamed = 5

/** Options by which a command asks before it changes something. */
export interface Wishes {
  readonly database?: string | undefined
  readonly yes?: boolean | undefined
  readonly json?: boolean | undefined
}

/** The impact of a change; null where the bound database cannot be looked into now. */
export async function askImpact(rules: Rules, change: DocumentChange): Promise<ProposedImpact | null> {
  try {
    return await rules.impact(change)
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 503) throw error
    warn(`The impact cannot be told now. ${error.message}\n`)
    return null
  }
}

/** True when people or applications would notice. */
export function hasImpact({ roles, ended, closed }: Impact): boolean {
  return roles.length + ended.length + closed.length > 0
}

/** Shows the impact, and asks on a terminal. False: the operator said no. */
export async function confirmImpact(impact: ProposedImpact | null, wishes: Wishes): Promise<boolean> {
  if (!impact || !hasImpact(impact)) return true
  announce(wishes, renderImpact(impact, wishes.database ?? ''))
  return wishes.yes || (await isConfirmed())
}

/** Ends a command whose change the operator did not confirm. */
export function leave(values: Wishes): number {
  announce(values, 'Nothing was changed.\n')
  return exitCodes.failed
}

/** Applications that would lose raw values come first, each with the command that exempts it. */
export function renderImpact(
  { roles, ended, reading, closed, statements, containment }: ProposedImpact,
  database: string,
): string {
  const live = roles.filter(({ sessions }) => sessions.length > 0)
  const lines = [
    ...live.map(
      ({ role, sessions }) =>
        `WARNING: ${showText(role)} has ${describeSessions(sessions)} and would lose raw values. To keep them: masquerade policy exempt ${quoteArgument(role)} -d ${quoteArgument(database)}`,
    ),
    ...(roles.length > 0 ? ['Roles that would lose raw values:', ...renderRoles(roles)] : []),
    ...roles.flatMap(({ role, functions }) =>
      functions.map(({ name, runsAsOwner }) =>
        runsAsOwner
          ? `  ${showText(role)} calls ${showText(name)}, which reads raw values with the rights of its owner`
          : `  ${showText(role)} calls ${showText(name)}, which would be denied raw values`,
      ),
    ),
    ...(ended.length > 0 ? ['Sessions that would be ended:'] : []),
    ...ended.map(
      ({ pid, role, application, reason }) =>
        `  ${pid}  ${showText(role)}  ${showText(application) || '(no name)'}: ${reason}`,
    ),
    ...(reading.length > 0
      ? ['Sessions that may go on reading raw values by an open cursor, until you run:']
      : []),
    ...reading.map(
      ({ role, application, statement }) => `  ${statement};  -- ${showText(role)}  ${showText(application)}`,
    ),
    ...(closed.length > 0 ? ['Relations that masked roles could not read at all:'] : []),
    ...closed.map(({ relation, reason }) => `  ${showText(relation)}: ${showText(reason)}`),
    ...describeContainment(containment, database),
    `${countOf(statements.length, 'statement')} would run.`,
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function describeContainment(containment: ProposedContainment, database: string): string[] {
  if (!containment || containment.notContained === 0) return []
  const { notContained, roles } = containment
  const names = roles.slice(0, mostNamed).map(({ role }) => showText(role))
  const more = notContained > mostNamed ? ` and ${notContained - mostNamed} more` : ''
  return [
    `Roles that the masks would not contain: ${names.join(', ')}${more}. See: masquerade containment -d ${quoteArgument(database)}`,
  ]
}

function renderRoles(roles: Impact['roles']): string[] {
  const rows = roles.flatMap(({ role, sessions, relations, canLogIn }) =>
    relations.map(({ relation, kind, columns, twin }) => [
      showText(role) + (canLogIn ? '' : ' (group)'),
      String(sessions.length),
      kind === 'table' ? showText(relation) : `${showText(relation)} (${kind})`,
      showText(columns.join(', ')),
      twin === null ? 'denied' : `masked: ${showText(twin)}`,
    ]),
  )
  const header = ['role', 'sessions', 'relation', 'columns', 'instead']
  return alignColumns([header, ...rows], new Set([1])).map((row) => `  ${row.join('  ').trimEnd()}`)
}

function describeSessions(sessions: Impact['roles'][number]['sessions']): string {
  const [first] = sessions
  const names = [...new Set(sessions.map(({ application }) => application).filter(Boolean))].map(showText)
  const address = first?.address ? ` from ${first.address}` : ''
  const since = first?.since ? ` since ${first.since}` : ''
  return `${countOf(sessions.length, 'live session')}${names.length > 0 ? ` (${names.join(', ')})` : ''}${address}${since}`
}
