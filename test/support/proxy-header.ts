import { isIPv4 } from 'node:net'

interface Wishes {
  readonly command?: number
  readonly family?: number
  /** Extensions behind the addresses. */
  readonly more?: Buffer
}

/** A header of PROXY protocol version 2 for a client at `source`: IPv4, or IPv6 with all eight groups written out. */
export function writeProxyHeader(
  source: string,
  { command = 0x21, family, more = Buffer.alloc(0) }: Wishes = {},
): Buffer {
  const isV4 = isIPv4(source)
  const address = isV4
    ? Buffer.from(source.split('.').map(Number))
    : Buffer.from(
        source
          .split(':')
          .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]),
      )
  const addresses = Buffer.concat([
    address,
    Buffer.alloc(address.length),
    Buffer.from([0x30, 0x39, 0x19, 0x20]),
  ])
  const head = Buffer.from('0d0a0d0a000d0a515549540a00000000', 'hex')
  head[12] = command
  head[13] = family ?? (isV4 ? 0x11 : 0x21)
  head.writeUInt16BE(addresses.length + more.length, 14)
  return Buffer.concat([head, addresses, more])
}
