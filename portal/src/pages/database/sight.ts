import { queryOptions } from '@tanstack/react-query'
import type { Mapping } from '../../api/access.ts'
import { sendBatch } from '../../api/batch.ts'
import type { Exemption } from '../../api/document.ts'
import { type DatabasePlace, pathOf } from '../../api/masking.ts'
import type { CarriedRight } from '../../directory/carried-rights.tsx'

/** Whether a principal sees raw values in a database, and by what. */
export interface Sight {
  readonly seesRaw: boolean
  /** The group that the exemption names; null: it names the principal itself, or a role. */
  readonly through: string | null
  /** The exempt database role that the principal logs in as. */
  readonly role: string | null
}

/** By exemptions of the principal, of groups around it, and of the roles that it logs in as. */
export function judgeSight(
  rights: readonly CarriedRight[],
  exemptions: readonly Exemption[],
  place: DatabasePlace,
): Sight {
  const path = pathOf(place).toLowerCase()
  const here = rights.filter(({ scope }) => scope?.toLowerCase() === path)
  const exemption = here.find(({ type }) => type === 'exemption')
  const exemptRoles = exemptions.filter(({ kind }) => kind === 'DatabaseRole')
  const mapped = here.find(
    ({ type, name }) => type === 'databaseRole' && exemptRoles.some((one) => one.name === name),
  )
  const why = exemption ?? mapped
  const role = exemption ? null : (mapped?.name ?? null)
  return { seesRaw: why !== undefined, through: why?.through ?? null, role }
}

const sets: Readonly<Record<string, string>> = {
  User: 'users',
  Group: 'groups',
  ServicePrincipal: 'servicePrincipals',
}
/** Twenty of them are one request. */
const mostAsked = 100

/** The rights of everyone with a mapping, by their id, in few requests. */
export function mappedRightsQuery(mappings: readonly Mapping[]) {
  const asked = new Map(
    mappings.slice(0, mostAsked).flatMap(({ properties: { principalId, principalType } }) => {
      const set = sets[principalType ?? '']
      return set === undefined ? [] : [[principalId, `/${set}/${principalId}/carriedRights`] as const]
    }),
  )
  return queryOptions({
    queryKey: ['directory', 'mapped rights', [...asked.keys()]],
    queryFn: async () => {
      const outcomes = await sendBatch([...asked.values()].map((url) => ({ method: 'GET', url })))
      return new Map(
        [...asked.keys()].flatMap((id, at) => {
          const outcome = outcomes[at]
          if (outcome?.status !== 200) return []
          return [[id, (outcome.body as { value: readonly CarriedRight[] }).value] as const]
        }),
      )
    },
    enabled: asked.size > 0,
  })
}
