import { isAscii } from '../../../sql/search-path.ts'
import { unparsed } from '../../audit/touch.ts'
import { ByteTable } from '../../rewrite/byte-table.ts'
import { maxNameBytes, nameless, PreparedStatement, type StatementFacts } from './prepared-statement.ts'

/** Statements beyond are counted when they are prepared; their runs may touch anything. */
const maxNames = 2_000
/** Texts that one session makes the gateway hold. Statements whose text is dropped are not prepared again. */
const maxTextBytes = 1 << 20
/** Statements under one name whose answers the gateway cannot recognise. Beyond, the name may mean anything. */
const maxUnanswerable = 8
const recentNames = 64

/**
 * The prepared statements of a session by name. A name leads to the statement that was sent last; its `previous` ones are
 * those that the name means if the server refuses it.
 */
export class PreparedStatements {
  readonly #byName = new Map<string, PreparedStatement>()
  /** Names with letters beyond ASCII. */
  readonly #lettered = new Set<string>()
  /** Every execution looks a name up: the last ones are found by their bytes, without making a string of them. */
  readonly #recent = new ByteTable<PreparedStatement | undefined>(recentNames)
  /** Drivers prepare it anew for every statement. */
  #unnamed: PreparedStatement | undefined
  #unread: PreparedStatement | undefined
  /** The server may have statements under names that are not held. */
  #hasMissed = false
  readonly #withText = new Set<PreparedStatement>()
  #textBytes = 0

  /** `name`: each byte as a letter. */
  get(name: string): PreparedStatement | undefined {
    return name === '' ? this.#unnamed : this.#byName.get(name.slice(0, maxNameBytes))
  }

  /** The same, or what a name that is not held may mean. */
  getMeant(name: string): PreparedStatement | undefined {
    return this.get(name) ?? (this.#hasMissed || !isAscii(name) ? nameless : this.#unread)
  }

  /** The server may have prepared any statement under any name: from now on a name that is not held may mean it. */
  missNames(): void {
    if (this.#hasMissed) return
    this.#hasMissed = true
    this.#recent.clear()
  }

  /** The statement whose name begins at `start` and ends with a zero. */
  find(bytes: Buffer, start: number): PreparedStatement | undefined {
    if (bytes[start] === 0) return this.#unnamed
    const limit = Math.min(bytes.length, start + maxNameBytes)
    let end = start
    while (end < limit && bytes[end] !== 0) end++
    const recent = this.#recent.find(bytes, start, end)
    if (recent) return recent.value
    const name = bytes.toString('latin1', start, end)
    const found = this.#byName.get(name) ?? (this.#hasMissed || !isAscii(name) ? nameless : undefined)
    this.#recent.set(Buffer.from(bytes.subarray(start, end)), found)
    return found
  }

  /** Another unnamed statement that touches nothing would say the same as this one. */
  isUnnamedClean(version: number): boolean {
    return this.#unnamed?.version === version && this.#unnamed.effects.length === 0
  }

  /** A statement on its way to the server. `isAnswerable`: the server's answer to it will be recognised. */
  add(facts: StatementFacts, segment: number, isAnswerable: boolean): PreparedStatement | undefined {
    const name = facts.name.slice(0, maxNameBytes)
    const previous = this.get(name)
    if (name !== '' && !previous && this.#byName.size >= maxNames) {
      this.missNames()
      return undefined
    }
    const statement = new PreparedStatement({ ...facts, name }, segment)
    statement.previous = previous
    if (previous && previous.state !== 'held') statement.unanswerable = previous.unanswerable
    if (!isAnswerable && ++statement.unanswerable > maxUnanswerable) {
      statement.effects = [...statement.effects, ...unparsed]
      statement.previous = undefined
      statement.unanswerable = 0
    }
    this.#set(name, statement)
    return statement
  }

  /** A statement on its way to the server whose name and text the gateway has not read. */
  addUnread(facts: Omit<StatementFacts, 'name'>, segment: number): void {
    this.dropTexts()
    this.add({ ...facts, name: '' }, segment, false)
    this.#unread = new PreparedStatement({ ...facts, name: '' }, segment)
  }

  /** A statement on its way to the server whose name the server may read differently: every name with letters may mean it. */
  addNameless(): undefined {
    for (const name of this.#lettered) {
      for (let one = this.#byName.get(name); one; one = one.previous) this.dropText(one)
      this.#byName.delete(name)
    }
    this.#lettered.clear()
    this.#recent.clear()
  }

  /** The statement that an unknown name may mean: one that passed unread. */
  get unread(): PreparedStatement | undefined {
    return this.#unread
  }

  /** The server has it, and nothing else under its name that was sent before. */
  confirm(statement: PreparedStatement): void {
    for (let one = statement.previous; one; one = one.previous) this.dropText(one)
    statement.state = 'held'
    statement.previous = undefined
    if (!statement.text) return
    this.#withText.add(statement)
    this.#textBytes += statement.textBytes
    for (const oldest of this.#withText) {
      if (this.#textBytes <= maxTextBytes) break
      this.dropText(oldest)
    }
  }

  /** The server refused it: its name means what it meant before. */
  refuse(statement: PreparedStatement): void {
    this.dropText(statement)
    statement.state = 'gone'
    this.#removeGone(statement.name)
  }

  /** The server closed it. */
  close(statement: PreparedStatement): void {
    for (let one: PreparedStatement | undefined = statement; one; one = one.previous) {
      this.dropText(one)
      one.state = 'gone'
    }
    statement.previous = undefined
    this.#removeGone(statement.name)
  }

  /** It cannot be prepared again from now on. */
  dropText(statement: PreparedStatement): void {
    if (this.#withText.delete(statement)) this.#textBytes -= statement.textBytes
    statement.text = undefined
  }

  /** The gateway does not know which statements the server still has, or has by another text. */
  dropTexts(): void {
    for (const statement of this.#withText) this.dropText(statement)
  }

  #removeGone(name: string): void {
    let head = this.get(name)
    if (head?.state !== 'gone') return
    while (head?.state === 'gone') head = head.previous
    this.#set(name, head)
  }

  #set(name: string, head: PreparedStatement | undefined): void {
    if (name === '') {
      this.#unnamed = head
      return
    }
    this.#recent.clear()
    if (head) {
      this.#byName.set(name, head)
      if (head.hasLetters) this.#lettered.add(name)
    } else {
      this.#byName.delete(name)
      this.#lettered.delete(name)
    }
  }
}
