import { countOf } from '../kernel/count-of.ts'
import { apiHelp, listAll, openApi } from './api.ts'
import { type Command, readArgs } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { databaseHelp, lookOptions, policyPathOf, requireBound } from './look.ts'
import { report } from './surroundings.ts'
import { showText } from './table.ts'

export interface RoleVerdict {
  readonly role: string
  readonly verdict: 'Contained' | 'NotContained'
  readonly reasons: readonly {
    readonly kind: string
    readonly text: string
    readonly statement: string | null
    readonly via: string | null
  }[]
}

const options = { ...lookOptions, all: { type: 'boolean' } } as const

export const containment: Command = {
  name: 'containment',
  summary: 'List the database roles that masks do not contain',
  help: `
Usage: masquerade containment -d DATABASE [--all] [--json]

Masks hold against contained roles. Lists the others, each with its reasons and the statement that removes each.
--all lists the contained roles too. ${databaseHelp}
${apiHelp}

Exit codes: 0 all are contained, 1 failed, 2 wrong use, 4 at least one role is not contained.`,
  options,
  async run(args) {
    const { values } = readArgs('containment', args, { options })
    const path = policyPathOf(values.database, 'containment')
    const api = await openApi(values)
    const found = await listAll<RoleVerdict>(
      api,
      `${path}/containment${values.all ? '' : '?verdict=NotContained'}`,
    )
    if (found.length === 0) await requireBound(api, path, values.database ?? '')
    report(values, found, `${inWords(found)}\n`)
    const isOpen = found.some(({ verdict }) => verdict === 'NotContained')
    return isOpen ? exitCodes.unsettled : exitCodes.done
  },
}

function inWords(found: readonly RoleVerdict[]): string {
  const open = found.filter(({ verdict }) => verdict === 'NotContained')
  const contained = found.filter(({ verdict }) => verdict === 'Contained').map(({ role }) => showText(role))
  const parts = [
    ...(open.length > 0
      ? [`${describeNotContained(open)}\n\n${countOf(open.length, 'role')} not contained.`]
      : []),
    ...(contained.length > 0 ? [`Contained: ${contained.join(', ')}`] : []),
  ]
  return parts.length > 0 ? parts.join('\n\n') : 'Every role is contained.'
}

/** The roles with their reasons and statements, as every command shows them. */
export function describeNotContained(found: readonly RoleVerdict[]): string {
  const items = found.map(({ role, reasons }) =>
    reasons
      .map(({ kind, text, statement, via }) => {
        const through = via === null ? '' : ` (through ${showText(via)})`
        const remedy = statement?.replaceAll('\n', '\n          ')
        const close = remedy === undefined ? 'exempt it in the policy' : `${remedy};`
        return `${showText(role)} ${showText(text)}${through}\n  Reason: ${kind}\n  Close:  ${close}`
      })
      .join('\n'),
  )
  return items.join('\n\n')
}
