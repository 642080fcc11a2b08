import { violation } from './refusal.ts'

/** PostgreSQL's own limit. */
export const maxStartupBytes = 10_000

/** Minor versions of protocol 3: the last one, and the one from which on secrets to cancel with may be longer. */
export const latestMinor = 2
export const longSecretMinor = 2

const cancelCode = 80877102
const sslCode = 80877103
const gssCode = 80877104

export type StartupPacket =
  | { readonly kind: 'ssl' }
  | { readonly kind: 'gss' }
  | { readonly kind: 'cancel'; readonly processId: number; readonly secret: Buffer }
  | {
      readonly kind: 'startup'
      readonly major: number
      readonly minor: number
      readonly parameters: ReadonlyMap<string, string>
    }

/** How long the packet is that starts with these four bytes. */
export function readStartupLength(head: Buffer): number {
  const length = head.readUInt32BE(0)
  if (length < 8 || length > maxStartupBytes) violation('invalid length of startup packet')
  return length
}

export function readStartup(packet: Buffer): StartupPacket {
  if (packet.length < 8 || packet.readUInt32BE(0) !== packet.length)
    violation('invalid length of startup packet')
  const code = packet.readUInt32BE(4)
  if (code === sslCode || code === gssCode) {
    if (packet.length !== 8) violation('invalid length of an encryption request')
    return { kind: code === sslCode ? 'ssl' : 'gss' }
  }
  if (code === cancelCode) {
    if (packet.length < 16 || packet.length > 12 + 256) violation('invalid length of a cancel request')
    return { kind: 'cancel', processId: packet.readUInt32BE(8), secret: packet.subarray(12) }
  }
  return {
    kind: 'startup',
    major: code >>> 16,
    minor: code & 0xffff,
    parameters: readParameters(packet.subarray(8)),
  }
}

function readParameters(bytes: Buffer): ReadonlyMap<string, string> {
  if (bytes.at(-1) !== 0) violation('the startup packet does not end with a terminator')
  const parameters = new Map<string, string>()
  let at = 0
  const next = () => {
    const end = bytes.indexOf(0, at)
    if (end < 0) violation('the startup packet ends in the middle of a parameter')
    const text = bytes.toString('utf8', at, end)
    at = end + 1
    return text
  }
  while (at < bytes.length - 1) {
    const name = next()
    if (name === '') violation('the startup packet has data after its terminator')
    if (at >= bytes.length) violation('a startup parameter has no value')
    parameters.set(name, next())
  }
  if (at !== bytes.length - 1) violation('the startup packet does not end with a terminator')
  return parameters
}

export function writeStartup(parameters: Iterable<readonly [string, string]>): Buffer {
  const body = [...parameters].flat().map((text) => Buffer.from(`${text}\0`))
  return withLength([number(3 << 16), ...body, Buffer.from([0])])
}

export const sslRequest = withLength([number(sslCode)])

export function writeCancel(processId: number, secret: Buffer): Buffer {
  return withLength([number(cancelCode), number(processId), secret])
}

function withLength(parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([number(body.length + 4), body])
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
