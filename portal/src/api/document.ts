import { queryOptions } from '@tanstack/react-query'
import { get, send } from './call.ts'
import type { Schema } from './described.ts'
import { type DatabasePlace, pathOf } from './masking.ts'
import { queryClient } from './query-client.ts'

type Stored = Schema<'maskingDocument'>['properties']
export type Policy = Stored['policy']
/** A rule of the document; without another name for it where the portal makes it. */
export type Rule = Omit<Stored['rules'][number], 'aliasName'> & {
  readonly aliasName?: string | null
}
export interface DocumentProperties {
  readonly policy: Policy
  readonly rules: readonly Rule[]
}
export type Exemption = Schema<'maskingDocument'>['exemptions'][number]
export type Impact = Schema<'impact'>
export type Recommendation = Schema<'recommendation'>
export type Exposure = Schema<'exposure'>
export type ClosedExposure = Schema<'closedExposure'>
export type RoleVerdict = Schema<'roleVerdict'>
export type MaskingFunction = Recommendation['maskingFunction']
export type Mask = Pick<
  Recommendation,
  'maskingFunction' | 'numberFrom' | 'numberTo' | 'prefixSize' | 'suffixSize' | 'replacementString'
>

/** The version whose documents have every setting of a policy. */
const ownVersion = 'api-version=2026-11-01'

/** In the order of the editor. */
export const maskingFunctions: readonly MaskingFunction[] = [
  'Default',
  'Email',
  'Text',
  'Number',
  'CCN',
  'SSN',
]

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

function documentPathOf(place: DatabasePlace): string {
  return `${policyPathOf(place)}/document?${ownVersion}`
}

/** Rules, policy and exemptions of a database: every change of the portal is a change of this document. */
export function documentQuery(place: DatabasePlace) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'document'],
    queryFn: async ({ signal }): Promise<MaskingDocument> => {
      const { body, headers } = await send<MaskingDocument>('GET', documentPathOf(place), { signal })
      return pickDocument({ ...body, tag: headers.get('etag') ?? '' })
    },
  })
}

/**
 * Replaces the document that has the tag, and returns the tag of the new one. Pages have the new one at once: a change that
 * follows soon builds on it, and is not refused for the tag of the old one.
 */
export async function putDocument(
  place: DatabasePlace,
  properties: DocumentProperties,
  tag: string,
): Promise<string> {
  const { queryKey } = documentQuery(place)
  const { body, headers } = await send<MaskingDocument>('PUT', documentPathOf(place), {
    body: { properties },
    headers: { 'if-match': tag },
  })
  const stored = { ...body, tag: headers.get('etag') ?? '' }
  await queryClient.cancelQueries({ queryKey })
  queryClient.setQueryData(queryKey, pickDocument(stored))
  return stored.tag
}

function pickDocument({ tag, properties, exemptions }: MaskingDocument): MaskingDocument {
  return { tag, properties, exemptions }
}

export function impactQuery(place: DatabasePlace, properties: DocumentProperties) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'impact', properties],
    queryFn: async ({ signal }) => {
      const path = `${policyPathOf(place)}/impact?${ownVersion}`
      return (await send<Impact>('POST', path, { body: { properties }, signal })).body
    },
    staleTime: 0,
    gcTime: 0,
  })
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

interface Exposures {
  readonly value: readonly Exposure[]
  /** Found by an earlier look. */
  readonly closed: readonly ClosedExposure[]
}

export function exposuresQuery(place: DatabasePlace) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'exposures'],
    queryFn: ({ signal }) => get<Exposures>(`${policyPathOf(place)}/exposures`, signal),
    staleTime: 30_000,
  })
}

interface Containment {
  /** The first page of the roles that are not contained. */
  readonly value: readonly RoleVerdict[]
  readonly notContained: number
}

export function containmentQuery(place: DatabasePlace) {
  return queryOptions({
    queryKey: ['database', pathOf(place), 'containment'],
    queryFn: ({ signal }) =>
      get<Containment>(`${policyPathOf(place)}/containment?verdict=NotContained&${ownVersion}`, signal),
    staleTime: 30_000,
  })
}
