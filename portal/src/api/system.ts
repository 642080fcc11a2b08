import { queryOptions } from '@tanstack/react-query'
import { get } from './call.ts'
import type { Schema } from './described.ts'

export type ServiceDescription = Schema<'serviceDescription'>
export type SigningKey = ServiceDescription['signingKeys'][number]
export type Setting = ServiceDescription['settings'][number]
export type ServiceNode = ServiceDescription['nodes'][number]

export const serviceQuery = queryOptions({
  queryKey: ['service'],
  queryFn: ({ signal }) => get<ServiceDescription>('/providers/Vendor.Sql/service', signal),
  refetchInterval: 15_000,
})
