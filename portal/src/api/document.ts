import { queryOptions } from '@tanstack/react-query'
import { get, send } from './call.ts'
import { type DatabasePlace, pathOf } from './masking.ts'

export const maskingFunctions = ['Default', 'Email', 'Text', 'Number', 'CCN', 'SSN'] as const
export type MaskingFunction = (typeof maskingFunctions)[number]

export interface Mask {
  readonly maskingFunction: MaskingFunction
  readonly numberFrom: string | null
  readonly numberTo: string | null
  readonly prefixSize: string | null
  readonly suffixSize: string | null
  readonly replacementString: string | null
}

export interface Rule extends Mask {
  readonly name: string
  readonly schemaName: string
  readonly tableName: string
  readonly columnName: string
  readonly aliasName?: string | null
}

export interface Policy {
  readonly dataMaskingState: 'Enabled' | 'Disabled'
  readonly enforcementMode: 'Enforce' | 'Observe'
  readonly exemptPrincipals: readonly string[]
}

export interface DocumentProperties {
  readonly policy: Policy
  readonly rules: readonly Rule[]
}

export interface Exemption {
  readonly entry: string
  readonly kind: 'DatabaseRole' | 'User' | 'Group' | 'ServicePrincipal' | 'Everybody' | 'Nothing' | 'Unknown'
  readonly id: string | null
  readonly name: string
}

export interface MaskingDocument {
  readonly tag: string
  readonly properties: DocumentProperties
  readonly exemptions: readonly Exemption[]
}

export const emptyMask: Omit<Mask, 'maskingFunction'> = {
  numberFrom: null,
  numberTo: null,
  prefixSize: null,
  suffixSize: null,
  replacementString: null,
}

export function policyPathOf(place: DatabasePlace): string {
  return `${pathOf(place)}/dataMaskingPolicies/Default`
}

/** Rules, policy and exemptions of a database: every change of the portal is a change of this document. */
export function documentQuery(place: DatabasePlace) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'document'],
    queryFn: async ({ signal }): Promise<MaskingDocument> => {
      const { body, headers } = await send<MaskingDocument>('GET', `${policyPathOf(place)}/document`, {
        signal,
      })
      return { tag: headers.get('etag') ?? '', properties: body.properties, exemptions: body.exemptions }
    },
  })
}

export async function putDocument(
  place: DatabasePlace,
  properties: DocumentProperties,
  tag: string,
): Promise<void> {
  await send('PUT', `${policyPathOf(place)}/document`, { body: { properties }, headers: { 'if-match': tag } })
}

export interface LiveSession {
  readonly pid: number
  readonly role: string
  readonly application: string
  readonly address: string | null
  readonly since: string | null
}

export interface Impact {
  readonly changes: { readonly created: number; readonly updated: number; readonly deleted: number }
  readonly roles: readonly {
    readonly role: string
    readonly canLogIn: boolean
    readonly sessions: readonly LiveSession[]
    readonly relations: readonly { readonly relation: string; readonly columns: readonly string[] }[]
    readonly functions: readonly { readonly name: string }[]
  }[]
  readonly ended: readonly (LiveSession & { readonly reason: string })[]
  readonly closed: readonly { readonly relation: string; readonly reason: string }[]
  readonly statements: readonly { readonly sql: string; readonly why: string }[]
  readonly notes: readonly { readonly code: string; readonly message: string }[]
}

export function impactQuery(place: DatabasePlace, properties: DocumentProperties) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'impact', properties],
    queryFn: async ({ signal }) =>
      (await send<Impact>('POST', `${policyPathOf(place)}/impact`, { body: { properties }, signal })).body,
    staleTime: 0,
    gcTime: 0,
  })
}

export interface Recommendation extends Mask {
  readonly schemaName: string
  readonly tableName: string
  readonly columnName: string
  readonly kind: string
  readonly confidence: number
  readonly reasons: readonly string[]
}

export function recommendationsQuery(place: DatabasePlace) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'recommendations'],
    queryFn: async ({ signal }) =>
      (await get<{ value: readonly Recommendation[] }>(`${policyPathOf(place)}/recommendations`, signal))
        .value,
    staleTime: 5 * 60_000,
  })
}

export interface Exposure {
  readonly code: string
  readonly severity: 'high' | 'medium' | 'low'
  readonly objects: readonly { readonly kind: string; readonly name: string }[]
  readonly roles: readonly string[]
  readonly explanation: string
  readonly remedy: string | null
  readonly consequences: {
    readonly affects: string
    readonly undo: string | null
    readonly isDangerous: boolean
    readonly alternative: string | null
  } | null
  readonly rule: Pick<Rule, 'schemaName' | 'tableName' | 'columnName' | 'maskingFunction'> | null
}

export function exposuresQuery(place: DatabasePlace) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'exposures'],
    queryFn: async ({ signal }) =>
      (await get<{ value: readonly Exposure[] }>(`${policyPathOf(place)}/exposures`, signal)).value,
    staleTime: 30_000,
  })
}
