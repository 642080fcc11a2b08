import type { Socket } from 'node:net'

/** Takes what came. Returns whether it is still needed then: if not, the next bytes are read over it. */
export type TakeBytes = (bytes: Buffer) => boolean

/** A statement and its answer fit into the first; rows by the thousand come in the second. */
const smallBytes = 8 * 1024
const largeBytes = 64 * 1024
/** So many small reads in a row, and the session is done with rows by the thousand. */
const calmReads = 64

/**
 * Gives what a paused socket reads to `take`; `resume` begins. Node makes 64 KB of memory for each read and passes it
 * through a stream, which costs more than all that we do with a statement. Sockets can read into memory of ours instead
 * (`onread`), but only those that say so when they are made can say so by what is documented, and accepted ones cannot. So
 * it is set here the way that option sets it. Returns false where Node has changed: then it is the stream after all.
 */
export function readSocket(socket: Socket, take: TakeBytes): boolean {
  const waiting: Buffer | null = socket.read()
  const isDirect = readDirectly(socket, take)
  if (waiting) take(waiting)
  if (!isDirect) socket.on('data', take)
  return isDirect
}

function readDirectly(socket: Socket, take: TakeBytes): boolean {
  const symbols = Object.getOwnPropertySymbols(socket)
  const [buffer, callback, generator] = ['kBuffer', 'kBufferCb', 'kBufferGen'].map((name) =>
    symbols.find(({ description }) => description === name),
  )
  const handle: unknown = Reflect.get(socket, '_handle')
  if (!buffer || !callback || !generator || !isHandle(handle)) return false
  const memory = new ReadMemory()
  const first = memory.next()
  Reflect.set(socket, buffer, first)
  Reflect.set(socket, generator, () => memory.next())
  Reflect.set(socket, callback, (count: number, bytes: Buffer) => {
    memory.use(count, take(bytes.subarray(0, count)))
    return true
  })
  handle.useUserBuffer(first)
  return true
}

function isHandle(handle: unknown): handle is { useUserBuffer(bytes: Buffer): void } {
  return typeof handle === 'object' && handle !== null && 'useUserBuffer' in handle
}

/** The buffer that one socket reads into: large only while large reads arrive. */
class ReadMemory {
  #bytes = Buffer.allocUnsafeSlow(smallBytes)
  #isKept = false
  #calm = 0

  next(): Buffer {
    const size = this.#calm < 0 ? largeBytes : smallBytes
    if (this.#isKept || this.#bytes.length !== size) this.#bytes = Buffer.allocUnsafeSlow(size)
    this.#isKept = false
    return this.#bytes
  }

  /** Records the size of a read. `isKept`: the reader kept the bytes, so the next read needs a new buffer. */
  use(count: number, isKept: boolean): void {
    this.#isKept = isKept
    if (count >= smallBytes) this.#calm = -calmReads
    else if (this.#calm < 0) this.#calm++
  }
}
