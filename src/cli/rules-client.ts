import type { Impact } from '../contracts/inspection.ts'
import { countOf } from '../kernel/count-of.ts'
import { nameState } from '../kernel/enforcement-state.ts'
import type { Exemption } from '../masking/policy/exemptions.ts'
import { optionalFields, requiredFields } from '../masking/rules/rule-fields.ts'
import type { Api } from './api.ts'
import { exitCodes } from './exit-codes.ts'
import type { FilePolicy, FileRule } from './rules-file.ts'
import { warn } from './surroundings.ts'

interface Answer {
  readonly id: string
  readonly properties: Readonly<Record<string, string | null>>
}

interface DocumentAnswer {
  readonly exemptions: readonly Exemption[]
  readonly properties: {
    readonly policy: FilePolicy
    readonly rules: readonly (Readonly<Record<string, string | null>> & { readonly name: string })[]
  }
}

interface EnforcementAnswer {
  readonly state: string
  readonly reason: string | null
  readonly notes: readonly { readonly code: string; readonly target: string; readonly message: string }[]
}

/** Reads that a policy would change once it is enforced. */
export interface ObservationReport {
  readonly since: string
  readonly gateway: readonly { role: string; column: string; statements: number; last: string }[]
  readonly roles: Impact['roles']
}

interface StoredDocument {
  readonly rules: readonly FileRule[]
  readonly policy: FilePolicy
  readonly exemptions: readonly Exemption[]
  readonly tag: string
}

export interface ProposedImpact extends Impact {
  readonly exemptions: readonly Exemption[]
  readonly containment: ProposedContainment
}

/** Null: the database is not bound, or could not be looked into. */
export type ProposedContainment = {
  readonly notContained: number
  readonly roles: readonly { readonly role: string }[]
} | null

interface Replaced {
  readonly changes: Changes
  readonly exemptions: readonly Exemption[]
  readonly containment: ProposedContainment
}

/** Parts that are left out stay as they are. */
export interface DocumentChange {
  readonly rules?: readonly FileRule[]
  readonly policy?: FilePolicy
}

interface Changes {
  readonly created: number
  readonly updated: number
  readonly deleted: number
  readonly unchanged: number
}

/** The rules and the policy of one database, in the words of the file. */
export function rulesOf(api: Api, database: string) {
  const policyPath = `${database}/dataMaskingPolicies/Default`
  // What earlier versions do not have is part of documents.
  const own = '?api-version=2026-11-01'
  const rulePath = (name: string) => `${policyPath}/rules/${encodeURIComponent(name)}`
  return {
    /** Rules and policy at one moment, and the tag by which a change can say what it was made from. */
    async document(): Promise<StoredDocument> {
      const { body, tag } = await api.send<DocumentAnswer>('GET', `${policyPath}/document${own}`)
      const { policy, rules } = body.properties
      return { policy, rules: rules.map(withoutNulls), exemptions: body.exemptions, tag: tag ?? '' }
    },
    /** The effects of a change on roles and sessions. The change is checked as if it were to be stored, and not made. */
    async impact(change: DocumentChange): Promise<ProposedImpact> {
      return (await api.send<ProposedImpact>('POST', `${policyPath}/impact${own}`, { properties: change }))
        .body
    },
    async report(since: string | undefined): Promise<ObservationReport> {
      const query = since === undefined ? '' : `?since=${encodeURIComponent(since)}`
      return (await api.send<ObservationReport>('GET', `${policyPath}/report${query}`)).body
    },
    /** All of it is stored, or nothing. */
    async replace(document: DocumentChange, tag: string): Promise<Replaced> {
      const body = { properties: document }
      const path = `${policyPath}/document${own}`
      return (await api.send<Replaced>('PUT', path, body, { 'if-match': tag })).body
    },
    async list(): Promise<FileRule[]> {
      const { body } = await api.send<{ value: Answer[] }>('GET', `${policyPath}/rules`)
      return body.value.map(readAnswer)
    },
    async put({ name, ...properties }: FileRule): Promise<string | null> {
      return (await api.send('PUT', rulePath(name), { properties })).state
    },
    async enforcement(): Promise<EnforcementAnswer> {
      return (await api.send<EnforcementAnswer>('GET', `${policyPath}/enforcement`)).body
    },
    /** False when there was none. */
    async remove(name: string): Promise<boolean> {
      return (await api.send('DELETE', rulePath(name))).status === 200
    },
  }
}

/** Says what is not enforced. A stored rule that its database does not enforce must not look done. */
export async function tellEnforcement(rules: Rules): Promise<number> {
  const { state, reason, notes } = await rules.enforcement()
  if (isUnsettled(state) || state === 'Off') warn(`Enforcement: ${nameState(state)}. ${reason ?? ''}\n`)
  if (notes.length > 0) warn(`${countOf(notes.length, 'note')} about the masks: masquerade policy show\n`)
  return isUnsettled(state) ? exitCodes.unsettled : exitCodes.done
}

export function isUnsettled(state: string): boolean {
  return state === 'Pending' || state === 'Failed'
}

export type Rules = ReturnType<typeof rulesOf>

function withoutNulls(rule: Readonly<Record<string, string | null>> & { readonly name: string }): FileRule {
  return Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== null)) as unknown as FileRule
}

function readAnswer({ id, properties }: Answer): FileRule {
  const required = requiredFields.map((field) => [field, properties[field] ?? ''])
  const options = optionalFields
    .filter((field) => typeof properties[field] === 'string')
    .map((field) => [field, properties[field]])
  const name = decodeURIComponent(id.split('/').at(-1) ?? '')
  return { name, ...Object.fromEntries([...required, ...options]) }
}
