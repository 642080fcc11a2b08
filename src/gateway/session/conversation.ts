import { codes } from '../../wire/codes.ts'
import { FrameStream, longest } from '../../wire/frame-stream.ts'
import type { SessionTouches } from '../audit/session-touches.ts'
import { ClientMessages, type ClientMessagesOptions } from './client-messages.ts'
import { StatementLedger } from './ledger/statement-ledger.ts'
import { ServerMessages } from './server-messages.ts'
import { SessionPhase } from './session-phase.ts'

export interface ConversationOptions extends ClientMessagesOptions {
  readonly touches: SessionTouches
  /** Of the client. */
  readonly maxMessageBytes: number
}

/** A longer statement passes as it is. */
const maxTextBytes = 1 << 20

/** Follows what client and server say to each other, and says what each of them is sent. */
export class Conversation {
  readonly #ledger: StatementLedger
  readonly #fromClient: FrameStream
  readonly #fromBackend: FrameStream
  readonly #phase = new SessionPhase()

  constructor(options: ConversationOptions) {
    this.#ledger = new StatementLedger(options.touches)
    const client = new ClientMessages(options, this.#ledger, this.#phase)
    const server = new ServerMessages(options.texts, this.#ledger, this.#phase)
    this.#fromClient = new FrameStream({
      watched: 'QPBEDCSFXcf',
      allowed: 'QPBEDCSHFdcfX',
      watchLimit: maxTextBytes,
      maxLength: options.maxMessageBytes,
      look: (type, bytes, from, to) => client.look(type, bytes, from, to),
      miss(type) {
        client.miss(type)
        return false
      },
    })
    this.#fromBackend = new FrameStream({
      watched: 'ZEN123SCGIs',
      noted: 'Dd',
      watchLimit: maxTextBytes,
      maxLength: longest,
      look: (type, bytes, from, to) => server.look(type, bytes, from, to),
      miss: (type) => server.miss(type),
      note: () => this.#ledger.hearShown(),
    })
  }

  /** Returns the bytes to send to the database for a chunk from the client. */
  hearClient(chunk: Buffer): Buffer | undefined {
    return this.#fromClient.push(chunk)
  }

  /** Returns the bytes to send to the client for a chunk from the database. */
  hearBackend(chunk: Buffer): Buffer | undefined {
    return this.#fromBackend.push(chunk)
  }

  /** Neither side says anything any more. */
  end(): void {
    this.#ledger.end()
  }

  /** Client or database has said goodbye: neither has to be told any more. */
  get isOver(): boolean {
    return this.#phase.isOver
  }

  /** The database is at work, or waits for the data of a COPY. */
  get isAwaited(): boolean {
    return this.#ledger.isAwaited
  }

  get isIdle(): boolean {
    return !this.isAwaited && this.#phase.status === codes.idle
  }

  /** The client can be sent a message of the gateway's own. */
  get canInterrupt(): boolean {
    return this.#fromBackend.isBetweenFrames
  }
}
