import { BlockList, isIP, isIPv6 } from 'node:net'

/** Loopback as it stands in a URL: the names under which clients of this machine find the service. */
export const loopbackHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** True for `localhost` and for loopback addresses, with the brackets of a URL or without. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  return name.toLowerCase() === 'localhost' || isLoopbackAddress(name)
}

export function isLoopbackAddress(address: string): boolean {
  const plain = unmapAddress(address)
  return plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'))
}

/** True for https, and for http on this machine: tokens and keys go over a network only where it is encrypted. */
export function isSafeUrl(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))
}

/** True for 0.0.0.0 and ::, on which a server listens and to which no client can connect by name. */
export function isEveryInterface(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** The address at which this machine reaches a server that listens on `host`. */
export function reachableAddress(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
}

/** As it stands in a URL: IPv6 in brackets. */
export function bracketHost(host: string): string {
  return isIPv6(host) ? `[${host}]` : host
}

/** Names the network that a client is counted by: the IPv4 address, or the /64 of an IPv6 one, which one customer has. */
export function nameNetwork(address: string): string {
  const plain = unmapAddress(address).toLowerCase().split('%', 1)[0] ?? ''
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = plain.split('::')
  const left = head.split(':').filter(Boolean)
  const right = tail?.split(':').filter(Boolean) ?? []
  const missing = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  return [...left, ...Array<string>(missing).fill('0'), ...right].slice(0, 4).join(':')
}

/** Whether an address is one of these, or in one of these networks such as 10.0.0.0/8. */
export function createNetworkList(entries: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/')
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    list.addSubnet(address, Number(prefix ?? (family === 'ipv4' ? 32 : 128)), family)
  }
  return (address) => {
    const [plain = ''] = unmapAddress(address).split('%')
    return isIP(plain) !== 0 && list.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6')
  }
}

export function unmapAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

export interface HostEntry {
  readonly host: string
  /** Unset: every port. */
  readonly port?: number
}

/** `host`, `host:port` or `[host]:port`; an address of IPv6 has brackets where a port follows. Undefined: it is none of these. */
export function readHostEntry(text: string): HostEntry | undefined {
  const [, bracketed, plain, own] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  // More than one colon without brackets: an address or a network of IPv6.
  const host = bracketed ?? plain ?? text
  if (!/^(\*\.)?[\w.:-]{1,253}$|^[\da-f.:]+\/\d{1,3}$/i.test(host)) return undefined
  const [address = '', prefix = '0'] = host.split('/')
  if (host.includes(':') && isIP(address) === 0) return undefined
  if (Number(prefix) > (isIP(address) === 4 ? 32 : 128)) return undefined
  if (own === undefined) return { host }
  const port = Number(own)
  return port >= 1 && port <= 65_535 ? { host, port } : undefined
}
