import { mapPosition, type Rewritten } from '../../sql/splice.ts'
import { type Field, readFields, writeFields } from '../../wire/messages.ts'
import { heldSize, type PreparedText } from './prepared-texts.ts'

interface Sent {
  /** ReadyForQuery will answer it. */
  readonly ends: boolean
  readonly rewritten: Rewritten | undefined
  /** The client does not know of it. */
  readonly isOurs?: true
  /** A Sync: nobody answers it while the database takes in a COPY. */
  readonly isSync?: true
  /** The client's end of a COPY; nobody answers that. */
  readonly endsCopy?: true
  /** What the database has prepared once it says so. */
  readonly prepared?: PreparedText | undefined
  /** The name of the statement that the database has forgotten once it says so. */
  readonly closes?: string | undefined
  /** It is one of ours, but its failure is for the client: it wanted to use the statement. */
  readonly isRenewal?: true
  /** The name of the statement that is prepared again. */
  readonly renews?: string | undefined
  /** Its text was changed, and is not held. */
  readonly isForgotten?: true
}

/** Texts of statements that were not answered, for one session. Of those beyond it is not known where they were changed. */
const maxHeldBytes = 4 << 20
/** Ends of COPYs that never began are answered by nobody: whoever sends more of them gets out of step, alone. */
const maxCopyEnds = 1_000
/** A pipeline that never runs empty is cut from time to time. */
const compactAt = 1_000

const last: Sent = { ends: true, rewritten: undefined }
const unended: Sent = { ends: false, rewritten: undefined }
const sync: Sent = { ends: true, rewritten: undefined, isSync: true }
const copyEnd: Sent = { ends: false, rewritten: undefined, endsCopy: true }
const own: Sent = { ends: true, rewritten: undefined, isOurs: true }

/** What the database has not answered yet, to tell which statement an error is about. */
export class InFlight {
  #sent: Sent[] = []
  /** How many of them were answered. */
  #done = 0
  /** The database takes in a COPY whose end the client has not sent. */
  #isCopying = false
  /** After an error of the extended protocol the database takes no notice of anything before the next Sync. */
  #isSkipping = false
  #heldBytes = 0
  #copyEnds = 0
  /** Messages of the extended protocol that no Sync has followed yet. */
  #isOpen = false
  #isMixed = false
  #isQuiet = true

  /** The database will say when it is ready: it is at work, or waits for the data of a COPY. */
  get isAwaited(): boolean {
    if (this.#isMixed) return !this.#isQuiet
    return this.#sent.slice(this.#done).some(({ ends }) => ends)
  }

  /**
   * Some time a simple query came behind messages that no Sync had followed, which drivers hardly do: of an error it cannot
   * be told whether it skips that query, so nothing is certain any more.
   */
  get isMixed(): boolean {
    return this.#isMixed
  }

  /** What is sent now the database will not take notice of. */
  get isSkipping(): boolean {
    return this.#isSkipping
  }

  /** A message of the extended protocol that has no place of its own here. */
  sendOpen(): void {
    this.#isOpen = true
    this.#isQuiet = false
  }

  /** A message that ReadyForQuery will answer. */
  sendLast(rewritten?: Rewritten): void {
    this.#isMixed ||= this.#isOpen
    this.#send(rewritten ? { ends: true, rewritten } : last)
  }

  sendSync(): void {
    this.#isSkipping = false
    this.#isOpen = false
    this.#isQuiet = false
    if (!this.#isCopying) this.#send(sync)
  }

  sendCopyEnd(): void {
    if (!this.#isCopying && this.#copyEnds < maxCopyEnds) this.#send(copyEnd)
    this.#isCopying = false
  }

  /** The database takes in a COPY: every Sync up to the end of that is for nothing. */
  copying(): void {
    const pending = this.#sent.slice(this.#done)
    const end = pending.findIndex((one) => one.endsCopy)
    const during = end < 0 ? pending : pending.slice(0, end)
    this.#isCopying = end < 0
    if (end >= 0) this.#copyEnds--
    this.#sent = [...during.filter((one) => !one.isSync), ...(end < 0 ? [] : pending.slice(end + 1))]
    this.#done = 0
  }

  /** An error ends it, too. Outside of a simple query nobody will hear of anything that was sent before the next Sync. */
  failed(): void {
    this.#isCopying = false
    const first = this.#first()
    if (first?.ends && !first.isSync) return
    for (let one = first; one && !one.isSync; one = this.#first()) this.#finishFirst()
    this.#isSkipping = this.#first() === undefined
  }

  sendParse(rewritten: Rewritten | undefined, prepared?: PreparedText): void {
    this.#send(rewritten || prepared ? { ends: false, rewritten, prepared } : unended)
  }

  sendClose(closes?: string): void {
    this.#send({ ends: false, rewritten: undefined, closes })
  }

  /** Messages of ours before one of the client's. */
  sendRenewal(renews?: string, rewritten?: Rewritten): void {
    this.#send({ ends: false, rewritten, renews, isRenewal: true })
  }

  /** A statement of our own; its answer is for nobody. */
  sendOwn(): void {
    this.#send(own)
  }

  #send(one: Sent): void {
    this.#isQuiet = false
    if (!one.ends && !one.endsCopy) this.#isOpen = true
    if (this.#isSkipping) return
    if (one.endsCopy) this.#copyEnds++
    const size = sizeOf(one)
    if (size > 0 && this.#heldBytes + size > maxHeldBytes) {
      const { rewritten, prepared: _, ...rest } = one
      this.#sent.push({ ...rest, rewritten: undefined, ...(rewritten && { isForgotten: true }) })
      return
    }
    this.#heldBytes += size
    this.#sent.push(one)
  }

  get isOurs(): boolean {
    return this.#first()?.isOurs === true
  }

  /** A Parse or Close is done: that one. */
  answered(): Sent | undefined {
    const first = this.#first()
    if (first?.ends !== false) return undefined
    this.#finishFirst()
    return first
  }

  ready(): void {
    this.#isQuiet = true
    this.#isSkipping = false
    this.#isCopying = false
    while (this.#first()?.ends === false) this.#finishFirst()
    if (this.#first()) this.#finishFirst()
  }

  /** Nothing is left that was not answered. */
  get isDone(): boolean {
    return this.#first() === undefined
  }

  /** The end of a COPY is answered by nobody, and stands there until what is behind it is answered. */
  #first(): Sent | undefined {
    let at = this.#done
    while (this.#sent[at]?.endsCopy) at++
    return this.#sent[at]
  }

  #finishFirst(): void {
    const first = this.#first()
    if (first) this.#heldBytes -= sizeOf(first)
    for (; this.#sent[this.#done]?.endsCopy; this.#done++) this.#copyEnds--
    this.#done++
    // Mostly there is one; emptied by its length, the array would be made anew for every statement.
    if (this.#sent.length === 1) this.#sent.pop()
    else if (this.#done >= this.#sent.length) this.#sent.length = 0
    else if (this.#done < compactAt) return
    else this.#sent = this.#sent.slice(this.#done)
    this.#done = 0
  }

  /**
   * The same error or notice about the client's own text. Outside of texts it is about a statement that was prepared before,
   * and nobody knows which: where it stands in that one may be wrong, and is not said if `mayBeMoved`.
   */
  correct(frame: Buffer, mayBeMoved: boolean): Buffer | undefined {
    const first = this.#first()
    const rewritten = first?.rewritten
    const isKnown = first !== undefined && !first.isSync && !first.isForgotten
    if (!rewritten && (isKnown || !(mayBeMoved || first?.isForgotten))) return undefined
    const fields = readFields(frame).flatMap((field): Field[] => {
      const [code, text] = field
      if (code !== 'P') return [field]
      return rewritten ? [[code, String(mapPosition(rewritten, Number(text)))]] : []
    })
    return writeFields(frame.toString('latin1', 0, 1), fields)
  }
}

function sizeOf({ rewritten, prepared }: Sent): number {
  return (rewritten?.original.length ?? 0) + (prepared ? heldSize(prepared) : 0)
}
