import { isIP } from 'node:net'
import * as x509 from './x509.ts'

/**
 * X.509 name constraints (RFC 5280, 4.2.1.10), which the library does not offer: the only names that certificates
 * of a CA may be for. Whoever trusts our CA trusts it for the names of this service and for no other.
 */
export const nameConstraintsId = '2.5.29.30'

const dnsNameTag = 0x82
const ipAddressTag = 0x87
const sequenceTag = 0x30
const permittedSubtreesTag = 0xa0

export function createNameConstraints(names: readonly string[]): x509.Extension {
  const subtrees = names.map((name) => encode(sequenceTag, encodeBase(name)))
  const value = encode(sequenceTag, encode(permittedSubtreesTag, Buffer.concat(subtrees)))
  return new x509.Extension(nameConstraintsId, true, value)
}

/** Whether certificates of this CA may be for the name. A CA without constraints permits everything. */
export function permitsName(ca: x509.X509Certificate, name: string): boolean {
  const extension = ca.getExtension(nameConstraintsId)
  if (!extension) return true
  const [constraints] = decode(Buffer.from(extension.value))
  const permitted = constraints && decode(constraints.content).find(({ tag }) => tag === permittedSubtreesTag)
  if (!permitted) return false
  return decode(permitted.content)
    .flatMap(({ content }) => decode(content).slice(0, 1))
    .some(({ tag, content }) =>
      tag === ipAddressTag ? coversAddress(content, name) : coversHost(content, name),
    )
}

/** Addresses are one address each, but for the whole of 127.0.0.0/8. */
function encodeBase(name: string): Buffer {
  if (isIP(name) === 0) return encode(dnsNameTag, Buffer.from(withoutWildcard(name), 'ascii'))
  const address = toBytes(name)
  if (!name.startsWith('127.'))
    return encode(ipAddressTag, Buffer.concat([address, Buffer.alloc(address.length, 255)]))
  return encode(ipAddressTag, Buffer.from([127, 0, 0, 0, 255, 0, 0, 0]))
}

function coversAddress(content: Buffer, name: string): boolean {
  if (isIP(name) === 0) return false
  const address = toBytes(name)
  const base = content.subarray(0, content.length / 2)
  const mask = content.subarray(content.length / 2)
  if (address.length !== base.length) return false
  return address.every((byte, at) => (byte & (mask[at] ?? 0)) === base[at])
}

function coversHost(content: Buffer, name: string): boolean {
  const base = content.toString('ascii')
  const host = withoutWildcard(name)
  return isIP(name) === 0 && (host === base || host.endsWith(`.${base}`))
}

function withoutWildcard(name: string): string {
  return name.replace(/^\*\./, '')
}

function toBytes(address: string): Buffer {
  const [encoded] = decode(Buffer.from(new x509.GeneralName('ip', address).rawData))
  if (!encoded) throw new Error(`${address} is an address`)
  return encoded.content
}

function encode(tag: number, content: Buffer): Buffer {
  const { length } = content
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), content])
}

function decode(data: Buffer): { tag: number; content: Buffer }[] {
  const elements: { tag: number; content: Buffer }[] = []
  for (let at = 0; at + 2 <= data.length; ) {
    const first = data.readUInt8(at + 1)
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f
    const length = lengthBytes === 0 ? first : data.readUIntBE(at + 2, lengthBytes)
    const start = at + 2 + lengthBytes
    elements.push({ tag: data.readUInt8(at), content: data.subarray(start, start + length) })
    at = start + length
  }
  return elements
}
