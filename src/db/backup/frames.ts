import { OperatorError } from '../../kernel/operator-error.ts'

/**
 * A backup is a sequence of frames: a kind of one byte, the length of the payload in four, the payload. `d` holds rows of
 * a COPY as the server sent them, every other kind JSON.
 */
export const frameKinds = { manifest: 'm', file: 'f', table: 't', data: 'd', end: 'e' } as const

export type FrameKind = keyof typeof frameKinds

export interface Frame {
  readonly kind: FrameKind
  readonly payload: Buffer
}

const headerBytes = 5
/** A forged length must not make the reader collect the rest of the file. */
const mostPayloadBytes = 64 * 1024 * 1024

const kindsByByte = new Map(
  (Object.entries(frameKinds) as [FrameKind, string][]).map(([kind, char]) => [char.charCodeAt(0), kind]),
)

export function encodeFrame(kind: FrameKind, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(headerBytes)
  header.write(frameKinds[kind], 'latin1')
  header.writeUInt32BE(payload.length, 1)
  return Buffer.concat([header, payload])
}

export const notABackup = (what: string) => new OperatorError(`The file is not a whole backup: ${what}.`)

/** Reads frames one at a time; the next one can be looked at before it is taken. */
export class FrameReader {
  readonly #frames: AsyncIterator<Frame>
  #peeked: Frame | undefined

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#frames = readFrames(chunks)
  }

  /** Undefined after the last frame. */
  async peek(): Promise<Frame | undefined> {
    if (this.#peeked === undefined) {
      const { done, value } = await this.#frames.next()
      this.#peeked = done ? undefined : value
    }
    return this.#peeked
  }

  async take(kind: FrameKind): Promise<Buffer> {
    const frame = await this.peek()
    if (frame?.kind !== kind) throw notABackup(`${kind} was expected, and ${frame?.kind ?? 'its end'} came`)
    this.#peeked = undefined
    return frame.payload
  }

  /** Payloads of the frames up to the first of another kind. */
  async *takeAll(kind: FrameKind): AsyncGenerator<Buffer> {
    while ((await this.peek())?.kind === kind) yield await this.take(kind)
  }
}

async function* readFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let pieces: Uint8Array[] = []
  let held = 0
  let wanted = headerBytes
  for await (const chunk of chunks) {
    pieces.push(chunk)
    held += chunk.length
    if (held < wanted) continue
    let buffer = Buffer.concat(pieces)
    for (;;) {
      wanted = headerBytes + (buffer.length < headerBytes ? 0 : readLength(buffer))
      if (buffer.length < wanted || buffer.length < headerBytes) break
      yield { kind: readKind(buffer), payload: buffer.subarray(headerBytes, wanted) }
      buffer = buffer.subarray(wanted)
    }
    pieces = [buffer]
    held = buffer.length
  }
  if (held > 0) throw notABackup('it ends inside a frame')
}

function readLength(buffer: Buffer): number {
  const length = buffer.readUInt32BE(1)
  if (length > mostPayloadBytes) throw notABackup('a frame is too long')
  return length
}

function readKind(buffer: Buffer): FrameKind {
  const kind = kindsByByte.get(buffer[0] ?? 0)
  if (kind === undefined) throw notABackup('a frame has an unknown kind')
  return kind
}
