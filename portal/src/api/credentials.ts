import { queryOptions } from '@tanstack/react-query'
import { get, send } from './call.ts'
import type { Schema } from './described.ts'
import { queryClient } from './query-client.ts'

export type DatabaseCredential = Schema<'databaseCredential'>
export type CreatedCredential = Schema<'createdDatabaseCredential'>

const path = '/providers/Vendor.Sql/databaseCredentials'
const queryKey = ['credentials'] as const

/** Those of the person, and of everybody for a person whose role allows it. */
export const credentialsQuery = queryOptions({
  queryKey,
  queryFn: async ({ signal }) => (await get<{ value: readonly DatabaseCredential[] }>(path, signal)).value,
})

export async function createCredential(
  name: string,
  properties: Schema<'newDatabaseCredential'>['properties'],
): Promise<CreatedCredential> {
  const { body } = await send<CreatedCredential>('PUT', `${path}/${encodeURIComponent(name)}`, {
    body: { properties },
  })
  await queryClient.invalidateQueries({ queryKey })
  return body
}

/** By the id rather than the name, which others may use as well. */
export async function revokeCredential({ id }: DatabaseCredential): Promise<void> {
  await send('DELETE', id)
  await queryClient.invalidateQueries({ queryKey })
}
