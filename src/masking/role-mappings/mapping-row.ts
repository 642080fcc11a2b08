import type { Query } from '../../db/query.ts'
import { fold } from '../place.ts'

/** Who gets a database role: a principal itself, or everybody who is in a group at any depth. */
export interface MappingProperties {
  readonly databaseRole: string
  readonly principalId: string
}

export interface Mapping extends MappingProperties {
  readonly name: string
  readonly version: number
}

const columns = (tx: Query) => tx`
  name, database_role as "databaseRole", principal_id as "principalId", version`

export async function findMapping(tx: Query, databaseId: string, name: string): Promise<Mapping | null> {
  const [mapping] = await tx<Mapping[]>`
    select ${columns(tx)} from role_mapping where database_id = ${databaseId} and key = ${fold(name)}`
  return mapping ?? null
}

/** In the order of the unique constraint, whose index serves it. */
export async function selectMappings(tx: Query, databaseId: string): Promise<Mapping[]> {
  return await tx<Mapping[]>`
    select ${columns(tx)} from role_mapping where database_id = ${databaseId}
    order by database_role, principal_id`
}

/** The name of the mapping that gives the role to the principal. */
export async function findMappingOf(
  tx: Query,
  databaseId: string,
  { databaseRole, principalId }: MappingProperties,
): Promise<string | null> {
  const [mapping] = await tx<{ name: string }[]>`
    select name from role_mapping
    where database_id = ${databaseId} and database_role = ${databaseRole} and principal_id = ${principalId}`
  return mapping?.name ?? null
}

export async function insertMapping(
  tx: Query,
  databaseId: string,
  name: string,
  { databaseRole, principalId }: MappingProperties,
): Promise<Mapping> {
  const [stored] = await tx<Mapping[]>`
    insert into role_mapping (database_id, key, name, database_role, principal_id)
    values (${databaseId}, ${fold(name)}, ${name}, ${databaseRole}, ${principalId})
    returning ${columns(tx)}`
  if (!stored) throw new Error('an inserted mapping was not returned')
  return stored
}

export async function updateMapping(
  tx: Query,
  databaseId: string,
  name: string,
  { databaseRole, principalId }: MappingProperties,
): Promise<Mapping> {
  const [stored] = await tx<Mapping[]>`
    update role_mapping set database_role = ${databaseRole}, principal_id = ${principalId}, updated_at = now(),
      version = nextval('resource_version')
    where database_id = ${databaseId} and key = ${fold(name)}
    returning ${columns(tx)}`
  if (!stored) throw new Error('an updated mapping was not returned')
  return stored
}

export async function removeMapping(tx: Query, databaseId: string, name: string): Promise<void> {
  await tx`delete from role_mapping where database_id = ${databaseId} and key = ${fold(name)}`
}
