import { OperatorError } from '../kernel/operator-error.ts'
import { type Api, apiOptions, databasePathOf, openApi } from './api.ts'
import { readArgs } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { report } from './surroundings.ts'
import { showText } from './table.ts'

/** Options of the commands about the policy of one database. */
export const lookOptions = {
  ...apiOptions,
  database: { type: 'string', short: 'd' },
} as const

export const databaseHelp = 'DATABASE is subscription/group/server/database, or a resource id.'

/** Asks the policy of the database for one of its resources, and prints it as JSON or in words. */
export async function look<T>(
  command: string,
  args: readonly string[],
  inWords: (value: readonly T[]) => string,
): Promise<readonly T[]> {
  const { values } = readArgs(command, args, { options: lookOptions })
  const path = policyPathOf(values.database, command)
  const api: Api = await openApi(values)
  const { body } = await api.send<{ value: T[] }>('GET', `${path}/${command}`)
  if (body.value.length === 0) await requireBound(api, path, values.database ?? '')
  report(values, body.value, `${inWords(body.value)}\n`)
  return body.value
}

/** Nothing is found where nothing is looked at: a misspelt name must not look like a clean database. */
export async function requireBound(api: Api, path: string, database: string): Promise<void> {
  const { state } = (await api.send<{ state: string }>('GET', `${path}/enforcement`)).body
  if (state !== 'NotBound') return
  throw new OperatorError(
    `${showText(database)} is not bound to a PostgreSQL, so nothing was looked at. 'masquerade status' lists the bound databases.`,
    { exitCode: exitCodes.notFound },
  )
}

export function policyPathOf(database: string | undefined, command: string): string {
  return `${databasePathOf(database, command)}/dataMaskingPolicies/Default`
}
