import { BoundedCache } from '../kernel/cache.ts'

/** What the directory says about the principal and the client that a token names. */
export interface Standing {
  /** What the directory holds under the object id. */
  readonly kind: 'user' | 'servicePrincipal' | 'absent'
  /** Neither disabled nor deleted. */
  readonly enabled: boolean
  /** The client application is there and enabled. */
  readonly client: 'enabled' | 'disabled' | 'absent'
  /** Tokens from before this time are void: the password was changed, a permission withdrawn. */
  readonly validFromMs: number
}

const rememberedPrincipals = 50_000

/** Reads what the directory says now about a principal and the client that got its token. */
export type ReadStanding = (objectId: string, applicationId: string) => Promise<Standing>

/** Reads each standing at most once in `maxAgeSeconds`: a principal that was shut out gets in for no longer than that. */
export function createPrincipals(readStanding: ReadStanding, maxAgeSeconds: number): ReadStanding {
  const cache = new BoundedCache<Promise<Standing>>(rememberedPrincipals)
  return function standingOf(objectId: string, applicationId: string): Promise<Standing> {
    const key = `${objectId} ${applicationId}`
    const known = cache.get(key)
    if (known) return known
    const found = readStanding(objectId, applicationId)
    cache.set(key, found, Date.now() + maxAgeSeconds * 1000)
    found.catch(() => cache.delete(key))
    return found
  }
}
