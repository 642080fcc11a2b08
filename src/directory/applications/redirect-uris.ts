import { loopbackHosts } from '../../kernel/network.ts'
import type { ApplicationProperties } from './find-client-application.ts'

/** The properties of an application by which `readSignInWays` decides. Nodes hear of their changes: `removed_address_told`. */
export type SignInProperties = Pick<
  ApplicationProperties,
  'web' | 'spa' | 'publicClient' | 'isFallbackPublicClient'
>

export interface SignInWays {
  readonly isPublic: boolean
  readonly maySignInDevices: boolean
  /** A native application is answered at any port of its loopback addresses. */
  readonly kind: 'native' | 'web'
  readonly redirectUris: readonly string[]
}

/** Where an application is answered. Both the issuer and the check of tokens ask here: a token ends when its sign-in would be refused. */
export function readSignInWays(properties: SignInProperties): SignInWays {
  const [web, spa, native] = [properties.web, properties.spa, properties.publicClient].map((registered) =>
    [registered?.redirectUris ?? []].flat(),
  ) as [string[], string[], string[]]
  const maySignInDevices = properties.isFallbackPublicClient === true
  // Public only by the registration's own word: an application without a secret does not become one.
  const isPublic = maySignInDevices || (spa.length > 0 && web.length === 0)
  const kind = isPublic && native.length > 0 ? 'native' : 'web'
  const redirectUris = usableRedirectUris([...web, ...spa, ...(isPublic ? native : [])], kind)
  return { isPublic, maySignInDevices, kind, redirectUris }
}

const scriptSchemes = ['javascript:', 'vbscript:', 'data:', 'blob:', 'file:', 'about:']

/**
 * Where a client may be sent with a code. What a registration lists beyond that is passed over: one bad entry would
 * otherwise make the whole client unusable.
 */
function usableRedirectUris(uris: readonly unknown[], kind: 'web' | 'native'): string[] {
  return uris.filter((uri): uri is string => typeof uri === 'string' && isUsable(uri, kind))
}

function isUsable(uri: string, kind: 'web' | 'native'): boolean {
  const url = URL.parse(uri)
  if (!url || url.href.includes('#') || url.username !== '') return false
  const isLoopback = loopbackHosts.includes(url.hostname)
  if (url.protocol === 'http:') return isLoopback
  if (url.protocol === 'https:') return kind === 'web' || !isLoopback
  return kind === 'native' && !scriptSchemes.includes(url.protocol)
}
