import type { Refusal } from './refusal.ts'
import { violation } from './refusal.ts'

/** A typed message: one byte of type, four of length (themselves included), the body. */
export function message(type: string, ...parts: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  const head = Buffer.alloc(5)
  head.write(type, 0, 'latin1')
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}

export function fatal({ sqlstate, message: text }: Refusal): Buffer {
  return message('E', `SFATAL\0VFATAL\0C${sqlstate}\0M${text.replaceAll('\0', '')}\0\0`)
}

export function query(text: string): Buffer {
  return message('Q', `${text}\0`)
}

/** The gateway knows no extensions and no later minor version: newer clients are told so and carry on. */
export function negotiateVersion(minor: number, unknown: readonly string[]): Buffer {
  return message('v', int32((3 << 16) + minor), int32(unknown.length), ...unknown.map((name) => `${name}\0`))
}

/** BackendKeyData: what a client cancels its statements with. */
export function backendKey({ processId, secret }: { processId: number; secret: Buffer }): Buffer {
  return message('K', int32(processId), secret)
}

export type Field = readonly [code: string, text: string]

/** Fields of an ErrorResponse or NoticeResponse; bytes stay bytes, whatever the client's encoding. */
export function readFields(frame: Buffer): Field[] {
  const fields: Field[] = []
  let at = 5
  while (at < frame.length && frame[at] !== 0) {
    const end = frame.indexOf(0, at + 1)
    if (end < 0) violation('an error message ends in the middle of a field')
    fields.push([frame.toString('latin1', at, at + 1), frame.toString('latin1', at + 1, end)])
    at = end + 1
  }
  return fields
}

/** Of an error or a notice, in English whatever the language of the session. */
export function readSeverity(frame: Buffer): string | undefined {
  return readFields(frame).find(([code]) => code === 'V')?.[1]
}

export function writeFields(type: string, fields: readonly Field[]): Buffer {
  const body = fields.map(([code, text]) => `${code}${text}\0`).join('')
  return message(type, Buffer.from(`${body}\0`, 'latin1'))
}

export function readParameter(frame: Buffer): readonly [name: string, value: string] {
  const [name = '', value = ''] = frame.toString('utf8', 5).split('\0')
  return [name, value]
}

/** Names of login mechanisms in an AuthenticationSASL message. */
export function readMechanisms(frame: Buffer): string[] {
  return frame
    .toString('latin1', 9)
    .split('\0')
    .filter((name) => name !== '')
}

export function writeMechanisms(names: readonly string[]): Buffer {
  return message('R', int32(10), ...names.map((name) => `${name}\0`), '\0')
}

export interface FirstResponse {
  readonly mechanism: string
  /** `n`: no channel binding; `y`: the client could, but thinks that the server cannot; `p=…`: bound. */
  readonly binding: string
  /** The client's first message of the mechanism. */
  readonly data: string
}

export function readFirstResponse(frame: Buffer): FirstResponse {
  const end = frame.indexOf(0, 5)
  if (end < 0 || frame.length < end + 5) violation('malformed SASL response')
  const data = frame.subarray(end + 5)
  if (frame.readInt32BE(end + 1) !== data.length) violation('malformed SASL response')
  return {
    mechanism: frame.toString('latin1', 5, end),
    binding: data.toString('latin1').split(',')[0] ?? '',
    data: data.toString('utf8'),
  }
}

/** A statement that the client sends: where its text stands in the Query or Parse message that stands in `bytes`. */
export function findText(
  bytes: Buffer,
  from = 0,
  to = bytes.length,
): {
  readonly from: number
  readonly to: number
  readonly name: string
} {
  const isParse = bytes[from] === 0x50
  const start = isParse ? bytes.indexOf(0, from + 5) + 1 : from + 5
  const end = bytes.indexOf(0, start)
  if (start === 0 || start > to || end < 0 || end >= to) violation('a statement has no end')
  const rest = to - end - 1
  if (isParse ? rest < 2 || rest !== 2 + 4 * bytes.readUInt16BE(end + 1) : rest !== 0)
    violation('a statement contains a NUL')
  return { from: start, to: end, name: isParse ? bytes.toString('latin1', from + 5, start - 1) : '' }
}

/** Where the name of the statement begins in the Bind message that stands in `bytes`: behind the name of the portal. */
export function findBoundName(bytes: Buffer, from: number, to: number): number {
  let at = from + 5
  while (at < to && bytes[at] !== 0) at++
  return at + 1
}

/** It ends with a zero; bytes stay bytes. */
export function readName(bytes: Buffer, from: number, to: number): string {
  const end = bytes.indexOf(0, from)
  return bytes.toString('latin1', from, end < 0 ? to : Math.min(end, to))
}
