import type { IncomingMessage } from 'node:http'
import { bracketHost, loopbackHosts } from '../kernel/network.ts'

/** The host names under which the endpoints are answered; whatever else a Host header says is ignored. */
export function readHostNames(host: string, tlsHostNames: readonly string[]): readonly string[] {
  const own = [host, ...tlsHostNames].map((name) => bracketHost(name).toLowerCase())
  return [...loopbackHosts, ...own]
}

/** The origin for the URLs of an answer: the one the client used when it is one of ours, else the public one. */
export function originOf(
  request: IncomingMessage,
  publicOrigin: string,
  hostNames: readonly string[],
): string {
  const url = URL.parse(`http://${request.headers.host ?? ''}`)
  if (url?.pathname !== '/' || url.username !== '' || url.search !== '') return publicOrigin
  const protocol = 'encrypted' in request.socket ? 'https' : 'http'
  const origin = new URL(`${protocol}://${request.headers.host}`).origin
  if (new URL(origin).host === new URL(publicOrigin).host) return publicOrigin
  return isOwnHost(url.hostname, hostNames) ? origin : publicOrigin
}

export function isOwnHost(hostname: string, hostNames: readonly string[]): boolean {
  return hostNames.some((name) => {
    if (!name.startsWith('*.')) return name === hostname
    const label = hostname.slice(0, -name.length + 1)
    return hostname.endsWith(name.slice(1)) && label !== '' && !label.includes('.')
  })
}

/** Passwords and tokens travel in the clear on this machine only, unless the operator chose an http address. */
export function isSafeOrigin(origin: string, publicOrigin: string): boolean {
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' || loopbackHosts.includes(hostname) || origin === publicOrigin
}

/** Under which addresses a browser on this machine reaches the service. */
export function localOrigins({ httpPort, httpsPort }: { httpPort: number; httpsPort: number }): string[] {
  return loopbackHosts.flatMap((host) => [`http://${host}:${httpPort}`, `https://${host}:${httpsPort}`])
}

/** The addresses of pages at each of the origins, every one once. */
export function pagesAt(origins: readonly string[], paths: readonly string[]): string[] {
  return [...new Set(origins)].flatMap((origin) => paths.map((path) => origin + path))
}
