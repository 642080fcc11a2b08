import { createHostGuard } from '../db/host-guard.ts'
import { countOf } from '../kernel/count-of.ts'
import { nameState } from '../kernel/enforcement-state.ts'
import { listUnbound, type UnboundDatabases } from '../masking/binding/list-unbound.ts'
import { type ContainmentCount, listContained } from '../masking/enforcement/contained-counts.ts'
import { type DatabaseState, listStates } from '../masking/states/list-states.ts'
import type { Settings } from '../settings.ts'
import { askReadiness } from './ask-readiness.ts'
import { type Command, readArgs } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { readRunFile, urlOf } from './run-file.ts'
import { currentSettings, report } from './surroundings.ts'
import { showText } from './table.ts'

const options = { json: { type: 'boolean' } } as const

export const status: Command = {
  name: 'status',
  summary: 'Say whether the service runs and is ready',
  help: `
Usage: masquerade status [--json]

Looks for the service of this data directory (MASQUERADE_DATA_DIR) and asks whether it is ready. A user who can read the
data directory also sees the bound databases and the state of their masks, the number of database roles that the masks do
not contain, and the databases of the same servers that are not bound.
Exit codes: 0 ready, 3 not running, 4 running but not ready (the parts that are not are listed), or the masks of a
database have failed.`,
  options,
  async run(args) {
    const { values } = readArgs('status', args, { options })
    const settings = currentSettings()
    const state = await inspect(settings.dataDir)
    const found: Report = state.state === 'ready' ? { ...state, ...(await readDatabases(settings)) } : state
    report(values, found, `${inWords(found)}\n`)
    if (found.state === 'not running') return exitCodes.unreachable
    const hasFailed = found.databases?.some(({ state }) => state === 'Failed')
    return found.state === 'ready' && !hasFailed ? exitCodes.done : exitCodes.unsettled
  },
}

interface Report {
  readonly state: 'ready' | 'not ready' | 'not running'
  readonly url?: string
  readonly pid?: number
  readonly notReady?: readonly { readonly name: string; readonly reason: string }[]
  /** Absent for those who may not look. */
  readonly databases?: readonly (DatabaseState & Pick<ContainmentCount, 'notContained'>)[]
  /** On the servers of these. */
  readonly unbound?: readonly UnboundDatabases[]
}

async function inspect(dataDir: string): Promise<Report> {
  const run = await readRunFile(dataDir)
  if (!run) return { state: 'not running' }
  const readiness = await askReadiness(run)
  if (!readiness) return { state: 'not running' } // the file of a service that was killed
  const place = { url: urlOf(run), pid: run.pid }
  const { isReady, notReady } = readiness
  if (isReady) return { state: 'ready', ...place }
  return { state: 'not ready', ...place, ...(notReady.length > 0 && { notReady }) }
}

async function readDatabases(settings: Settings): Promise<Pick<Report, 'databases' | 'unbound'>> {
  const { openOperatorAccess } = await import('./operator.ts')
  try {
    await using access = await openOperatorAccess(settings)
    const { sql } = access.database
    const counts = new Map((await listContained(sql)).map((one) => [one.id, one.notContained]))
    const states = await listStates(sql)
    return {
      databases: states.map((one) => ({ ...one, notContained: counts.get(one.id) ?? 0 })),
      unbound: await listUnbound(sql, access.secrets, createHostGuard(settings.bindingHosts)),
    }
  } catch {
    return {}
  }
}

function inWords({ state, url, pid, notReady, databases, unbound }: Report): string {
  if (state === 'not running') return 'Not running.'
  const reasons = (notReady ?? []).map(({ name, reason }) => `\n  ${name}: ${reason}`)
  return `${state === 'ready' ? 'Ready' : 'Not ready'} at ${url} (pid ${pid}).${reasons.join('')}${describe(databases ?? [])}${describeUnbound(unbound ?? [])}`
}

function describe(databases: NonNullable<Report['databases']>): string {
  const lines = databases.map(
    ({ id, state, since, reason, notes, notContained }) =>
      `\n  ${nameState(state).padEnd(9)}  ${id}${since === null ? '' : ` since ${since}`}${reason === null ? '' : `\n            ${reason}`}${notes === 0 ? '' : `\n            ${countOf(notes, 'note')}: masquerade policy show`}${notContained === 0 ? '' : `\n            ${countOf(notContained, 'role')} not contained: masquerade containment`}`,
  )
  return lines.length === 0 ? '' : `\nMasked databases:${lines.join('')}`
}

function describeUnbound(servers: readonly UnboundDatabases[]): string {
  const lines = servers.map(({ server, names }) => `\n  ${showText(server)}  ${showText(names.join(', '))}`)
  return lines.length === 0 ? '' : `\nNot bound, and not masked, on the same servers:${lines.join('')}`
}
