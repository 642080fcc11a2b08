import { apiHelp } from './api.ts'
import type { Command } from './command.ts'
import { databaseHelp, look, lookOptions } from './look.ts'

interface Shown {
  readonly schemaName: string
  readonly tableName: string
  readonly columnName: string
  readonly maskingFunction: string
  readonly confidence: number
  readonly reasons: readonly string[]
}

export const recommendations: Command = {
  name: 'recommendations',
  summary: 'List columns without a rule that look sensitive',
  help: `
Usage: masquerade recommendations -d DATABASE [--json]

Looks at the names of all columns and at a few rows of each table, and lists what looks like an e-mail address, a card
number, a salary and so on, with the masking function that suits it. No value is shown, kept or logged. ${databaseHelp}
${apiHelp}`,
  options: lookOptions,
  async run(args) {
    await look<Shown>('recommendations', args, inWords)
    return 0
  },
}

function inWords(found: readonly Shown[]): string {
  if (found.length === 0) return 'No column without a rule looks sensitive.'
  const names = found.map((one) => `${one.schemaName}.${one.tableName}.${one.columnName}`)
  const width = Math.max(...names.map((name) => name.length))
  const lines = found.map(({ maskingFunction, confidence, reasons }, at) =>
    [
      `${Math.round(confidence * 100)} %`.padStart(5),
      (names[at] ?? '').padEnd(width),
      maskingFunction.padEnd(7),
      reasons.join('; '),
    ].join('  '),
  )
  return lines.join('\n')
}
