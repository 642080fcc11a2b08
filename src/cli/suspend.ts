import { nameState } from '../kernel/enforcement-state.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { apiHelp, openApi } from './api.ts'
import { type Command, readArgs } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { databaseHelp, lookOptions, policyPathOf } from './look.ts'
import { splitColumn } from './rules.ts'
import { isUnsettled } from './rules-client.ts'
import { report } from './surroundings.ts'

const options = { ...lookOptions, table: { type: 'string' } } as const

export const suspend: Command = {
  name: 'suspend',
  summary: 'Take the twin off a table for a migration, without unmasking anything',
  help: `
Usage: masquerade suspend --table SCHEMA.TABLE -d DATABASE

The twin of a masked table keeps ALTER COLUMN … TYPE, DROP COLUMN and DROP TABLE from it. Suspended, the table has no
twin: it can be migrated, and those who are to see masks see nothing of the masked columns at all until
'masquerade resume'. Raw values are never shown. ${databaseHelp}
${apiHelp}`,
  options,
  run: (args) => change('suspend', args),
}

export const resume: Command = {
  name: 'resume',
  summary: 'Put the twin of a suspended table back',
  help: `
Usage: masquerade resume --table SCHEMA.TABLE -d DATABASE

Ends 'masquerade suspend': the table gets a twin again, of the shape it has now. ${databaseHelp}
${apiHelp}`,
  options,
  run: (args) => change('resume', args),
}

async function change(action: 'suspend' | 'resume', args: readonly string[]): Promise<number> {
  const { values } = readArgs(action, args, { options })
  const table = readTable(action, values.table)
  const path = policyPathOf(values.database, action)
  const api = await openApi(values)
  await api.send('POST', `${path}/${action}`, table)
  const { body } = await api.send<{ state: string; reason: string | null }>('GET', `${path}/enforcement`)
  const { state, reason } = body
  const isDone = !isUnsettled(state) && state !== 'NotBound'
  const done = action === 'suspend' || state !== 'Enforced' ? 'has no twin now' : 'has its twin again'
  const words = isDone ? done : 'will follow'
  const why = state === 'Enforced' ? '.' : ` (${nameState(state)}). ${reason}`
  report(values, { table: values.table, ...body }, `${values.table} ${words}${why}\n`)
  return isDone ? exitCodes.done : exitCodes.unsettled
}

export function readTable(command: string, text: string | undefined) {
  const [schemaName, tableName, ...more] = splitColumn(text ?? '')
  if (schemaName === undefined || tableName === undefined || more.length > 0)
    throw new OperatorError(`Name the table with --table SCHEMA.TABLE. See 'masquerade help ${command}'.`, {
      exitCode: 2,
    })
  return { schemaName, tableName }
}
