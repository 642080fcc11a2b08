import { loopbackHosts } from '../kernel/network.ts'

const scriptSchemes = ['javascript:', 'vbscript:', 'data:', 'blob:', 'file:', 'about:']

/**
 * Where a client may be sent with a code. What a registration lists beyond that is passed over: one bad entry would
 * otherwise make the whole client unusable.
 */
export function usableRedirectUris(uris: readonly unknown[], kind: 'web' | 'native'): string[] {
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
