import type { Socket } from 'node:net'
import { FrameStream } from '../wire/frame-stream.ts'
import { fatal, findText, query, readFields, readParameter, replaceText } from '../wire/messages.ts'
import { Refusal } from '../wire/refusal.ts'
import { InFlight } from './in-flight.ts'
import type { Rewritten } from './map-position.ts'
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
const nothing = Buffer.alloc(0)

/** Servers that know no such setting have nothing to allow. */
function setForbidden(kinds: string): string {
  return `DO $$ BEGIN PERFORM pg_catalog.set_config(name, '${kinds}', false) FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'restrict_nonsystem_relation_kind'; END $$`
}

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
      watched: 'ZE1SC',
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
    this.#options.onStatement(moved !== undefined)
    const sent = moved && replaceText(frame, from, to, moved.text)
    if (type === 'Q' && sent && moved.readsTwin && this.#options.texts.forbidsViews)
      return this.#allowViews(sent, moved.rewritten)
    if (type === 'Q') this.#inFlight.sendLast(moved?.rewritten)
    else this.#inFlight.sendParse(moved?.rewritten)
    return sent
  }

  /**
   * pg_dump forbids itself views, for fear that somebody swaps a table for one. Twins are ours: for the one statement that
   * we moved there they are allowed. In a transaction that failed both of our statements fail with it, and unseen.
   */
  #allowViews(statement: Buffer, rewritten: Rewritten): Buffer {
    this.#inFlight.sendOwn()
    this.#inFlight.sendLast(rewritten)
    this.#inFlight.sendOwn()
    return Buffer.concat([
      query(setForbidden('foreign-table')),
      statement,
      query(setForbidden('view, foreign-table')),
    ])
  }

  #lookAtBackend(type: string, frame: Buffer): Buffer | undefined {
    const isOurs = this.#inFlight.isOurs
    const other = this.#hear(type, frame)
    return isOurs && 'CEZ'.includes(type) && !this.#isOver ? nothing : other
  }

  #hear(type: string, frame: Buffer): Buffer | undefined {
    switch (type) {
      case 'C':
        return undefined
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
