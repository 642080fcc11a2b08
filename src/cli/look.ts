import { readArgs } from './command.ts'
import { apiOptions, databasePathOf, type MaskingApi, openMaskingApi } from './masking-api.ts'

/** Options of the commands about the policy of one database. */
export const lookOptions = {
  ...apiOptions,
  database: { type: 'string', short: 'd' },
  json: { type: 'boolean' },
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
  const api: MaskingApi = await openMaskingApi(values)
  const { body } = await api.send<{ value: T[] }>('GET', `${path}/${command}`)
  const text = values.json ? JSON.stringify(body.value, null, 2) : inWords(body.value)
  process.stdout.write(`${text}\n`)
  return body.value
}

export function policyPathOf(database: string | undefined, command: string): string {
  return `${databasePathOf(database, command)}/dataMaskingPolicies/Default`
}
