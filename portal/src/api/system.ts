import { queryOptions } from '@tanstack/react-query'
import { get } from './call.ts'

export interface SigningKey {
  readonly kid: string
  readonly activeFrom: string
  readonly expiresAt: string | null
  readonly signsNow: boolean
}

export interface Setting {
  readonly name: string
  readonly value: string | null
  readonly origin: 'default' | 'environment'
  readonly description: string
}

export interface ServiceDescription {
  readonly version: string
  readonly node: { readonly hostName: string; readonly runtime: string; readonly startedAt: string }
  readonly store: {
    readonly state: 'ready' | 'unreachable' | 'full'
    readonly kind: 'embedded' | 'external'
    readonly version: string
  }
  readonly signingKeys: readonly SigningKey[]
  readonly certificate: { readonly source: 'local CA' | 'operator'; readonly expiresAt: string }
  readonly settings: readonly Setting[]
}

export const serviceQuery = queryOptions({
  queryKey: ['service'],
  queryFn: ({ signal }) => get<ServiceDescription>('/providers/Vendor.Sql/service', signal),
  refetchInterval: 15_000,
})
