import { countOf } from '../kernel/count-of.ts'
import { databasePathOf } from './api.ts'
import { type Command, readArgs } from './command.ts'
import { examineInstallation } from './doctor/examine-installation.ts'
import { examineService } from './doctor/examine-service.ts'
import { examineStore } from './doctor/examine-store.ts'
import type { Finding } from './doctor/finding.ts'
import { exitCodes } from './exit-codes.ts'
import { databaseHelp } from './look.ts'
import { currentSettings, report } from './surroundings.ts'

const options = { database: { type: 'string', short: 'd' }, json: { type: 'boolean' } } as const

export const doctor: Command = {
  name: 'doctor',
  summary: 'Say what is wrong with this installation and its databases, and how to mend it',
  help: `
Usage: masquerade doctor [-d DATABASE] [--json]

Looks, in this order, at the data directory, the disk, the secret key, the certificates, the database of the service, its
migrations, the clock, the signing keys, the administrators, the state of the masks of each bound database, the ports of
a service that does not run, the service itself, the gateway, changes of masked databases by hand, and exposures. Each finding names the command that mends it. Nothing is changed. It works for the
user who can read the data directory, whether the service runs or not. ${databaseHelp}

  -d DATABASE      Look at the masks and exposures of this bound database alone.

Exit codes: 0 no problem (there may be warnings), 2 wrong use or a wrong setting, 4 at least one problem.`,
  options,
  async run(args) {
    const { values } = readArgs('doctor', args, { options })
    const wanted = values.database === undefined ? undefined : fold(databasePathOf(values.database, 'doctor'))
    const settings = currentSettings()
    const isWanted = (id: string) => wanted === undefined || fold(id) === wanted
    const installation = await examineInstallation(settings)
    const store = await examineStore(settings, isWanted)
    const databaseIds = store.flatMap(({ check }) =>
      check.startsWith(masksOf) ? [check.slice(masksOf.length)] : [],
    )
    // The tokens by which it would ask the service are not valid yet there, or not any more.
    const isClockOff = store.some(({ check, state }) => check === 'clock' && state === 'problem')
    const service = await examineService(settings, isClockOff ? null : databaseIds)
    const findings = [...installation, ...store, ...service]
    report(values, findings, inWords(findings))
    return findings.some(({ state }) => state === 'problem') ? exitCodes.unsettled : exitCodes.done
  },
}

const masksOf = 'masks of '

function fold(path: string): string {
  return path.toLowerCase().replace(/\/providers\/[^/]+\//, '/providers/-/')
}

const marks: Readonly<Record<Finding['state'], string>> = {
  ok: 'ok     ',
  warning: 'WARNING',
  problem: 'PROBLEM',
  skipped: 'skipped',
}

function inWords(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ check, state, message, fix }) => [
    `${marks[state]}  ${check}: ${message}`,
    ...(fix === undefined ? [] : [`         Mend it: ${fix}`]),
  ])
  const count = (wanted: Finding['state']) => findings.filter(({ state }) => state === wanted).length
  const problems = count('problem')
  const warnings = count('warning')
  const sum =
    problems + warnings === 0
      ? 'Nothing is wrong.'
      : `${countOf(problems, 'problem')}, ${countOf(warnings, 'warning')}.`
  return `${[...lines, sum].join('\n')}\n`
}
