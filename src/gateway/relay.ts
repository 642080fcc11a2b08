import type { Socket } from 'node:net'
import { FrameStream, longest } from '../wire/frame-stream.ts'
import { fatal, findText, query, readFields, readParameter } from '../wire/messages.ts'
import { readSocket } from '../wire/read-socket.ts'
import { Refusal } from '../wire/refusal.ts'
import { InFlight } from './in-flight.ts'
import { joinFrame, type Rewritten } from './map-position.ts'
import type { SessionTexts } from './session-texts.ts'
import { Settled } from './settled.ts'
import { largeObjectFunctions } from './touch/large-objects.ts'
import type { SessionTouches } from './touch/session-touches.ts'
import { unparsed } from './touch/touch.ts'

export interface RelayOptions {
  readonly client: Socket
  readonly backend: Socket
  readonly texts: SessionTexts
  readonly touches: SessionTouches
  /** 0: for ever. */
  readonly idleMs: number
  /** Of the client. */
  readonly maxMessageBytes: number
  onStatement(outcome: StatementOutcome): void
  onFailure(error: unknown): void
}

export type StatementOutcome = 'moved' | 'plain' | 'unparsed'

/** A statement that is longer passes as it is. */
const maxTextBytes = 1 << 20
const headBytes = 5
const closeMs = 2_000
const nothing = Buffer.alloc(0)

/** Messages of either side by their first byte, and the state of a session that is in no transaction. */
const codes = {
  Query: 0x51,
  Parse: 0x50,
  Bind: 0x42,
  Execute: 0x45,
  FunctionCall: 0x46,
  Terminate: 0x58,
  Sync: 0x53,
  CopyDone: 0x63,
  CopyFail: 0x66,
  CopyIn: 0x47,
  CommandComplete: 0x43,
  Error: 0x45,
  Notice: 0x4e,
  Ready: 0x5a,
  ParseComplete: 0x31,
  ParameterStatus: 0x53,
  idle: 0x49,
} as const

/** Servers that know no such setting have nothing to allow. */
function setForbidden(kinds: string): string {
  return `DO $$ BEGIN PERFORM pg_catalog.set_config(name, '${kinds}', false) FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'restrict_nonsystem_relation_kind'; END $$`
}

/** Both directions of a session after its login, until either side ends it. */
export class Relay {
  readonly #options: RelayOptions
  readonly #inFlight = new InFlight()
  readonly #settled = new Settled()
  readonly #fromClient: FrameStream
  readonly #fromBackend: FrameStream
  readonly #done = Promise.withResolvers<void>()
  #idle: NodeJS.Timeout | undefined
  #status: number = codes.idle
  /** Nobody has to be told any more. */
  #isOver = false

  constructor(options: RelayOptions) {
    this.#options = options
    this.#fromClient = new FrameStream({
      watched: 'QPBESFXcf',
      allowed: 'QPBEDCSHFdcfX',
      watchLimit: maxTextBytes,
      maxLength: options.maxMessageBytes,
      look: (type, bytes, from, to) => this.#lookAtClient(type, bytes, from, to),
      miss: (type) => this.#missText(type),
    })
    this.#fromBackend = new FrameStream({
      watched: 'ZEN1SCG',
      watchLimit: maxTextBytes,
      maxLength: longest,
      look: (type, bytes, from, to) => this.#lookAtBackend(type, bytes, from, to),
    })
  }

  /** Resolves when both sides are gone. Both sockets are paused. */
  run(): Promise<void> {
    const { client, backend } = this.#options
    client.once('end', () => this.#leave())
    client.once('close', () => this.#leave())
    backend.once('end', () => this.#lose())
    backend.once('close', () => this.#lose())
    readSocket(client, (bytes) => this.#pass(this.#fromClient, bytes, client, backend))
    readSocket(backend, (bytes) => this.#pass(this.#fromBackend, bytes, backend, client))
    client.resume()
    backend.resume()
    this.#watchIdle()
    // Either may have gone while the session was written down.
    if (client.destroyed) this.#leave()
    else if (backend.destroyed) this.#lose()
    return this.#done.promise
  }

  get isIdle(): boolean {
    return !this.#inFlight.isAwaited && this.#status === codes.idle
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

  /**
   * Returns whether bytes are still on their way. A reader that stops stops the writer: no more than a chunk and the
   * sockets' own buffers is held.
   */
  #pass(frames: FrameStream, chunk: Buffer, from: Socket, to: Socket): boolean {
    this.#idle?.refresh()
    const bytes = this.#push(frames, chunk)
    if (!bytes || bytes.length === 0 || to.destroyed || to.writableEnded) return false
    const isFull = !to.write(bytes)
    const isPending = to.writableLength > 0
    if (isFull && isPending) {
      from.pause()
      to.once('drain', () => from.resume())
    }
    return isPending
  }

  #push(frames: FrameStream, chunk: Buffer): Buffer | undefined {
    try {
      return frames.push(chunk)
    } catch (error) {
      this.#fail(error)
      return undefined
    }
  }

  #fail(error: unknown): void {
    if (!(error instanceof Refusal)) this.#options.onFailure(error)
    this.end(error instanceof Refusal ? error : new Refusal('Failure'))
  }

  #lookAtClient(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    switch (type) {
      case codes.Query:
      case codes.Parse:
        return this.#sendText(type, bytes, from, to)
      case codes.Bind:
        this.#bind(bytes, from + headBytes)
        return undefined
      case codes.Execute:
        this.#settled.run()
        return undefined
      case codes.Terminate:
        this.#isOver = true
        return undefined
      case codes.Sync:
        this.#settled.end()
        this.#inFlight.sendSync()
        return undefined
      case codes.CopyDone:
      case codes.CopyFail:
        this.#inFlight.sendCopyEnd()
        return undefined
      default:
        if (to - from < headBytes + 4 || !largeObjectFunctions.has(bytes.readUInt32BE(from + headBytes)))
          this.#touchUnseen()
        this.#settled.end()
        this.#inFlight.sendLast()
        return undefined
    }
  }

  #sendText(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const text = findText(bytes, from, to)
    const moved = this.#options.texts.rewrite(bytes, text.from, text.to, this.#settled.is)
    this.#touch(type, text.name, moved !== undefined)
    if (type === codes.Query) this.#settled.end()
    const sent = moved && joinFrame(bytes, from, text.from, to, moved.splices)
    sent?.writeUInt32BE(sent.length - 1, 1)
    if (type === codes.Parse) this.#inFlight.sendParse(moved)
    else if (sent && moved.rewriting.readsTwin && this.#options.texts.forbidsViews)
      return this.#allowViews(sent, moved)
    else this.#inFlight.sendLast(moved)
    return sent
  }

  /** Runs for every execution. */
  #bind(bytes: Buffer, from: number): void {
    const { texts, touches } = this.#options
    touches.bind(bytes, from, texts.version, this.#settled.is ? texts.path : undefined)
    this.#settled.run()
  }

  #touch(type: number, name: string, isMoved: boolean): void {
    const { texts, touches, onStatement } = this.#options
    const { acts, version } = texts
    const path = this.#settled.is ? texts.path : undefined
    if (type === codes.Parse) touches.parse(name, acts, version, path)
    else touches.query(acts, version, path)
    onStatement(isMoved ? 'moved' : acts === unparsed ? 'unparsed' : 'plain')
  }

  /** One that is too long to be held here; what is missing of it was counted as a statement that may do anything. */
  #missText(type: number): void {
    if (type === codes.Parse) this.#inFlight.sendParse(undefined)
    else if (type !== codes.Bind && type !== codes.Execute) this.#inFlight.sendLast()
    if (type === codes.Query || type === codes.Parse || type === codes.FunctionCall) this.#touchUnseen()
    if (type === codes.Bind || type === codes.Execute) this.#settled.run()
    else if (type !== codes.Parse) this.#settled.end()
  }

  #touchUnseen(): void {
    this.#options.texts.passUnseen()
    this.#touch(codes.Query, '', false)
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

  #lookAtBackend(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    const isOurs = this.#inFlight.isOurs
    const other = this.#hear(type, bytes, from, to)
    const isAnswer = type === codes.CommandComplete || type === codes.Error || type === codes.Ready
    return isOurs && isAnswer && !this.#isOver ? nothing : other
  }

  #hear(type: number, bytes: Buffer, from: number, to: number): Buffer | undefined {
    switch (type) {
      case codes.CommandComplete:
        return undefined
      case codes.Ready:
        this.#inFlight.ready()
        if (this.#inFlight.isDone) this.#settled.ready()
        this.#status = bytes[from + 5] ?? 0
        return undefined
      case codes.CopyIn:
        this.#inFlight.copying()
        return undefined
      case codes.ParseComplete:
        this.#inFlight.parsed()
        return undefined
      case codes.ParameterStatus:
        this.#options.texts.setParameter(...readParameter(bytes.subarray(from, to)))
        return undefined
      case codes.Notice:
        return this.#inFlight.correct(bytes.subarray(from, to))
      default: {
        const frame = bytes.subarray(from, to)
        // The database has said goodbye itself.
        const severity = readFields(frame).find(([code]) => code === 'V')?.[1]
        if (severity === 'FATAL' || severity === 'PANIC') this.#isOver = true
        const corrected = this.#inFlight.correct(frame)
        this.#inFlight.failed()
        return corrected
      }
    }
  }

  /** One timer for the whole session; it starts again with whatever either side says. */
  #watchIdle(): void {
    if (this.#options.idleMs === 0) return
    this.#idle = setTimeout(() => {
      if (this.#inFlight.isAwaited) this.#idle?.refresh()
      else this.end(new Refusal('IdleTimeout'))
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
    this.#idle = undefined
    this.#done.resolve()
  }
}
