import { optionalFields, requiredFields } from '../masking/rules/rule-fields.ts'
import type { MaskingApi } from './masking-api.ts'
import type { FilePolicy, FileRule } from './rules-file.ts'

interface Answer {
  readonly id: string
  readonly properties: Readonly<Record<string, string | null>>
}

/** The rules and the policy of one database, in the words of the file. */
export function rulesOf(api: MaskingApi, database: string) {
  const policyPath = `${database}/dataMaskingPolicies/Default`
  const rulePath = (name: string) => `${policyPath}/rules/${encodeURIComponent(name)}`
  return {
    async list(): Promise<FileRule[]> {
      const { body } = await api.send<{ value: Answer[] }>('GET', `${policyPath}/rules`)
      return body.value.map(readAnswer)
    },
    async put({ name, ...properties }: FileRule): Promise<string | null> {
      return (await api.send('PUT', rulePath(name), { properties })).state
    },
    async enforcement(): Promise<{ state: string; reason: string | null }> {
      type Answer = { state: string; reason: string | null }
      return (await api.send<Answer>('GET', `${policyPath}/enforcement`)).body
    },
    /** False when there was none. */
    async remove(name: string): Promise<boolean> {
      return (await api.send('DELETE', rulePath(name))).status === 200
    },
    async policy(): Promise<FilePolicy> {
      const { properties } = (await api.send<Answer>('GET', policyPath)).body
      return {
        dataMaskingState: properties.dataMaskingState ?? '',
        exemptPrincipals: (properties.exemptPrincipals ?? '').split(';').filter(Boolean),
      }
    },
    async setPolicy({ dataMaskingState, exemptPrincipals }: FilePolicy): Promise<void> {
      const properties = { dataMaskingState, exemptPrincipals: exemptPrincipals.join(';') }
      await api.send('PUT', policyPath, { properties })
    },
  }
}

/** Says what is not enforced. A stored rule that no database enforces must not look done: exit code 4. */
export async function tellEnforcement(rules: Rules): Promise<number> {
  const { state, reason } = await rules.enforcement()
  if (state === 'Pending' || state === 'Failed')
    process.stderr.write(`Enforcement: ${state}. ${reason ?? ''}\n`)
  return state === 'Failed' ? 4 : 0
}

export type Rules = ReturnType<typeof rulesOf>

function readAnswer({ id, properties }: Answer): FileRule {
  const required = requiredFields.map((field) => [field, properties[field] ?? ''])
  const options = optionalFields
    .filter((field) => typeof properties[field] === 'string')
    .map((field) => [field, properties[field]])
  const name = decodeURIComponent(id.split('/').at(-1) ?? '')
  return { name, ...Object.fromEntries([...required, ...options]) }
}
