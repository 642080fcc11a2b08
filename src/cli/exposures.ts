import type { Exposure } from '../contracts/inspection.ts'
import { apiHelp } from './api.ts'
import type { Command } from './command.ts'
import { databaseHelp, look, lookOptions } from './look.ts'
import { showText } from './table.ts'

export const exposures: Command = {
  name: 'exposures',
  summary: 'List the ways around the masks of a database that are still open',
  help: `
Usage: masquerade exposures -d DATABASE [--json]

Lists every way found by which a role that should see masks could still see raw values, the worst first, each with the
statement that closes it. ${databaseHelp}
${apiHelp}

Exit codes: 0 none of high severity, 1 failed, 2 wrong use, 4 at least one of high severity.`,
  options: lookOptions,
  async run(args) {
    const found = await look<Exposure>('exposures', args, inWords)
    return found.some(({ severity }) => severity === 'high') ? 4 : 0
  },
}

function inWords(found: readonly Exposure[]): string {
  if (found.length === 0) return 'No way around the masks was found.'
  const items = found.map(({ code, severity, objects, roles, explanation, remedy, consequences, rule }) => {
    const names = showText(objects.map(({ kind, name }) => `${kind} ${name}`).join(', '))
    const lines = [
      `${severity.toUpperCase().padEnd(6)} ${code}: ${names}`,
      ...(roles.length > 0 ? [`  Roles:  ${showText(roles.join(', '))}`] : []),
      `  ${showText(explanation)}`,
      ...(remedy === null ? [] : [`  Close:  ${remedy.replaceAll('\n', '\n          ')};`]),
      ...(consequences === null ? [] : describeConsequences(consequences)),
      ...(rule === null
        ? []
        : [`  Close:  a rule for ${showText(`${rule.schemaName}.${rule.tableName}.${rule.columnName}`)}`]),
    ]
    return lines.join('\n')
  })
  const count = (severity: string) => found.filter((one) => one.severity === severity).length
  return `${items.join('\n\n')}\n\n${count('high')} high, ${count('medium')} medium, ${count('low')} low.`
}

function describeConsequences({
  affects,
  undo,
  isDangerous,
  alternative,
}: NonNullable<Exposure['consequences']>): string[] {
  return [
    `  ${isDangerous ? 'DANGER: affects' : 'Affects:'} ${affects}`,
    `  Undo:   ${undo ?? 'impossible'}`,
    ...(alternative === null ? [] : [`  Or:     ${alternative}`]),
  ]
}
