import { isSamePlace } from '../../db/database-url.ts'
import { refuse } from '../../wire/refusal.ts'
import type { BackendAddress, BoundPlaces, GatewayPorts } from '../ports.ts'

/**
 * True where the binding still leads to the address of a session. The address is compared, not the version of the binding: a new
 * password for the same place ends no session, and a binding that left and came back masks the session again.
 */
export function isAtPlace(address: BackendAddress, bound: BoundPlaces | undefined): boolean {
  if (!bound || bound.database !== address.database) return false
  // A session that began at the only host is not watched for a change of the primary.
  const isWatched = address.others !== undefined || address.standing !== undefined
  return bound.isSeveral === isWatched && bound.places.some((place) => isSamePlace(place, address))
}

/** Refuses a login whose database was bound elsewhere since it was found; with a version, one whose binding was stored again. */
export async function requirePlace(
  databaseId: string,
  address: BackendAddress,
  ports: Pick<GatewayPorts, 'findPlaces' | 'findMasked'>,
  version?: string,
): Promise<void> {
  const places = await ports
    .findPlaces([databaseId])
    .catch((cause: unknown) => refuse('StoreUnavailable', {}, { cause }))
  const bound = places.get(databaseId)
  if (!isAtPlace(address, bound)) refuse('BindingChanged')
  if (version !== undefined && version !== bound?.version) refuse('BindingChanged')
  if (await isKnownMasked(address, ports)) refuse('BindingChanged')
}

/** True where the store knows masks in the database of a session that is not bound by the name of its server. */
export async function isKnownMasked(
  { identity }: BackendAddress,
  ports: Pick<GatewayPorts, 'findMasked'>,
): Promise<boolean> {
  if (identity === undefined) return false
  const masked = await ports
    .findMasked([identity])
    .catch((cause: unknown) => refuse('StoreUnavailable', {}, { cause }))
  return masked.length > 0
}
