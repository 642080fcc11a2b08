import type { Socket } from 'node:net'
import { FrameStream } from '../wire/frame-stream.ts'
import { fatal, findText, readFields, readParameter, replaceText } from '../wire/messages.ts'
import { Refusal } from '../wire/refusal.ts'
import { InFlight } from './in-flight.ts'
import type { SessionTexts } from './session-texts.ts'

export interface RelayOptions {
  readonly client: Socket
  readonly backend: Socket
  readonly texts: SessionTexts
  /** 0: for ever. */
  readonly idleMs: number
  onStatement(rewritten: boolean): void
  onFailure(error: unknown): void
}

const maxMessageBytes = 0x3fffffff
/** A statement that is longer passes as it is. */
const maxTextBytes = 1 << 20
const closeMs = 2_000

/** Both directions of a session after its login, until either side ends it. */
export class Relay {
  readonly #options: RelayOptions
  readonly #inFlight = new InFlight()
  readonly #fromClient: FrameStream
  readonly #fromBackend: FrameStream
  readonly #done = Promise.withResolvers<void>()
  #idle: NodeJS.Timeout | undefined
  #isBusy = false
  #status = 'I'
  /** Nobody has to be told any more. */
  #isOver = false

  constructor(options: RelayOptions) {
    this.#options = options
    this.#fromClient = new FrameStream({
      watched: 'QPSFX',
      allowed: 'QPBEDCSHFdcfX',
      watchLimit: maxTextBytes,
      maxLength: maxMessageBytes,
      look: (type, frame) => this.#lookAtClient(type, frame),
    })
    this.#fromBackend = new FrameStream({
      watched: 'ZE1S',
      watchLimit: maxTextBytes,
      maxLength: maxMessageBytes,
      look: (type, frame) => this.#lookAtBackend(type, frame),
    })
  }

  /** Resolves when both sides are gone. */
  run(early: Buffer): Promise<void> {
    const { client, backend } = this.#options
    pump(client, backend, (chunk) => this.#fromClientBytes(chunk))
    pump(backend, client, (chunk) => this.#fromBackendBytes(chunk))
    client.once('end', () => this.#leave())
    client.once('close', () => this.#leave())
    backend.once('end', () => this.#lose())
    backend.once('close', () => this.#lose())
    if (early.length > 0) client.unshift(early)
    client.resume()
    backend.resume()
    this.#watchIdle()
    return this.#done.promise
  }

  get isIdle(): boolean {
    return !this.#isBusy && this.#status === 'I'
  }

  /** Ends the session for a reason of our own; the client is told where that is possible. */
  end(refusal: Refusal): void {
    if (this.#isOver) return
    this.#over()
    const { client, backend } = this.#options
    backend.destroy()
    if (this.#fromBackend.isBetweenFrames) {
      client.end(fatal(refusal))
      setTimeout(() => client.destroy(), closeMs).unref()
    } else client.destroy()
  }

  #fromClientBytes(chunk: Buffer): Buffer[] {
    this.#isBusy = true
    try {
      return this.#fromClient.push(chunk)
    } catch (error) {
      this.#fail(error)
      return []
    }
  }

  #fromBackendBytes(chunk: Buffer): Buffer[] {
    try {
      return this.#fromBackend.push(chunk)
    } catch (error) {
      this.#fail(error)
      return []
    }
  }

  #fail(error: unknown): void {
    if (!(error instanceof Refusal)) this.#options.onFailure(error)
    this.end(error instanceof Refusal ? error : new Refusal('Failure'))
  }

  #lookAtClient(type: string, frame: Buffer): Buffer | undefined {
    if (type === 'X') this.#isOver = true
    if (type === 'S' || type === 'F') this.#inFlight.sendLast()
    if (type !== 'Q' && type !== 'P') return undefined
    const { from, to } = findText(frame)
    const moved = this.#options.texts.rewrite(frame.subarray(from, to))
    if (type === 'Q') this.#inFlight.sendLast(moved?.rewritten)
    else this.#inFlight.sendParse(moved?.rewritten)
    this.#options.onStatement(moved !== undefined)
    return moved && replaceText(frame, from, to, moved.text)
  }

  #lookAtBackend(type: string, frame: Buffer): Buffer | undefined {
    switch (type) {
      case 'Z':
        this.#inFlight.ready()
        this.#status = String.fromCharCode(frame[5] ?? 0)
        this.#isBusy = !this.#inFlight.isEmpty
        this.#watchIdle()
        return undefined
      case '1':
        this.#inFlight.parsed()
        return undefined
      case 'S':
        this.#options.texts.setParameter(...readParameter(frame))
        return undefined
      default: {
        // The database has said goodbye itself.
        const severity = readFields(frame).find(([code]) => code === 'V')?.[1]
        if (severity === 'FATAL' || severity === 'PANIC') this.#isOver = true
        return this.#inFlight.correct(frame)
      }
    }
  }

  #watchIdle(): void {
    clearTimeout(this.#idle)
    if (this.#options.idleMs === 0 || this.#isBusy) return
    this.#idle = setTimeout(() => {
      if (!this.#isBusy) this.end(new Refusal('IdleTimeout'))
    }, this.#options.idleMs)
    this.#idle.unref()
  }

  #leave(): void {
    this.#over()
    this.#options.backend.end()
    setTimeout(() => this.#options.backend.destroy(), closeMs).unref()
  }

  #lose(): void {
    const { client } = this.#options
    if (!this.#isOver) this.end(new Refusal('BackendLost'))
    if (client.writableEnded) return
    this.#over()
    client.end()
    setTimeout(() => client.destroy(), closeMs).unref()
  }

  #over(): void {
    this.#isOver = true
    clearTimeout(this.#idle)
    this.#done.resolve()
  }
}

/** A reader that stops stops the writer: no more than a chunk and the sockets' own buffers is held. */
function pump(from: Socket, to: Socket, pass: (chunk: Buffer) => Buffer[]): void {
  from.on('data', (chunk: Buffer) => {
    const pieces = pass(chunk)
    if (pieces.length === 0 || to.destroyed || to.writableEnded) return
    to.cork()
    let isOpen = true
    for (const piece of pieces) isOpen = to.write(piece)
    to.uncork()
    if (!isOpen) {
      from.pause()
      to.once('drain', () => from.resume())
    }
  })
}
