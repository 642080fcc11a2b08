import { SocketAddress } from 'node:net'
import { violation } from './refusal.ts'

/** The first bytes of every header of PROXY protocol version 2, which begin no other protocol. */
const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
export const proxyHeadBytes = 16
/** Addresses take 36 bytes. The rest is for extensions of the proxy, which are not read. */
const maxMoreBytes = 2_048

const local = 0x20
const proxied = 0x21
/** Bytes of both addresses and ports of TCP, by the byte that tells the family. */
const addressBytes = new Map([
  [0x11, 12],
  [0x21, 36],
])

/** The header of a proxy that speaks for itself: it tells no address. */
export const localProxyHeader = Buffer.concat([signature, Buffer.from([local, 0, 0, 0])])

/** How many bytes follow the first sixteen. Refuses everything but version 2 of the protocol. */
export function readProxyLength(head: Buffer): number {
  if (!head.subarray(0, signature.length).equals(signature)) violation('a proxy did not send a PROXY header')
  const command = head.readUInt8(12)
  if (command !== local && command !== proxied) violation('a PROXY header has another version or command')
  const length = head.readUInt16BE(14)
  if (length > maxMoreBytes) violation('a PROXY header is too long')
  return length
}

/** The address of the client. Undefined: the proxy speaks for itself, as in a check of its own. */
export function readProxyAddress(head: Buffer, more: Buffer): string | undefined {
  if (head.readUInt8(12) === local) return undefined
  const family = head.readUInt8(13)
  const wanted = addressBytes.get(family)
  if (wanted === undefined) violation('a PROXY header is not about TCP')
  if (more.length < wanted) violation('a PROXY header ends in the middle of an address')
  if (family === 0x11) return more.subarray(0, 4).join('.')
  const groups = Array.from({ length: 8 }, (_, at) => more.readUInt16BE(at * 2).toString(16))
  return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address
}
