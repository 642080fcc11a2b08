import { createHash } from 'node:crypto'
import { foldPrincipalName } from '../../../kernel/fold-principal-name.ts'
import type { ObjectKind } from '../../objects/kinds/resource.ts'
import { IdWriter } from './id-writer.ts'
import { type Key, KeyTable, readKey, writeUuid } from './key-table.ts'

/** The part of a directory object that the index keeps. */
export interface ObjectState {
  readonly id: Key
  readonly kind: ObjectKind
  readonly isSecurityEnabled: boolean
  readonly isDeleted: boolean
  /** `hashName` of the userPrincipalName; undefined for objects without one. */
  readonly name: Key | undefined
}

const kinds: readonly ObjectKind[] = [
  'user',
  'group',
  'servicePrincipal',
  'application',
  'orgContact',
  'device',
  'directoryRole',
  'organization',
]
const codes = new Map(kinds.map((kind, code) => [kind, code]))
const groupCode = kinds.indexOf('group')
const roleCode = kinds.indexOf('directoryRole')
const kindBits = 15
const securedBit = 16
const deletedBit = 32
const presentBit = 64

/** 1 for the facts of a group that was not deleted. */
export const groupFacts = markFacts((kind) => kind === groupCode)

/** 1 for the facts of a group or role that was not deleted. */
export const containerFacts = markFacts((kind) => kind === groupCode || kind === roleCode)

function markFacts(accepts: (kind: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, facts) =>
    Number((facts & (presentBit | deletedBit)) === presentBit && accepts(facts & kindBits)),
  )
}

/** Directory objects as numbers, with their ids, names and one byte of facts each. A number is never given twice. */
export class ObjectTable {
  readonly #ids = new KeyTable()
  readonly #names = new KeyTable()
  #facts = new Uint8Array(4096)
  #count = 0
  readonly #writer = new IdWriter()

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#ids.bytes + this.#names.bytes + this.#facts.byteLength + this.#writer.bytes
  }

  /** A byte for each object. Another array when objects are added. */
  get facts(): Uint8Array {
    return this.#facts
  }

  /** The objects so far are containers, whose ids are written again and again: their texts are kept. */
  keepTexts(): void {
    this.#writer.keep(this.#count)
  }

  /** The number of the object with this id, present or not; a new one where there is none. */
  number(id: Key): number {
    const known = this.#ids.find(id)
    if (known >= 0) return known
    const object = this.#count++
    if (object >= this.#facts.length) {
      const facts = new Uint8Array(Math.floor(this.#facts.length * 1.5))
      facts.set(this.#facts)
      this.#facts = facts
    }
    this.#ids.set(object, id)
    return object
  }

  put(state: ObjectState): number {
    const object = this.number(state.id)
    this.#facts[object] =
      (codes.get(state.kind) ?? kindBits) |
      (state.isSecurityEnabled ? securedBit : 0) |
      (state.isDeleted ? deletedBit : 0) |
      presentBit
    if (state.name) this.#names.set(object, state.name)
    else this.#names.clear(object)
    return object
  }

  /** The object does not exist any more; its number stays. */
  drop(object: number): void {
    this.#facts[object] = 0
    this.#names.clear(object)
  }

  /** The number of an id that was ever seen, or -1. */
  find(id: Key): number {
    return this.#ids.find(id)
  }

  /** The user with this hash of a name, or -1. */
  findUser(name: Key): number {
    return this.#names.find(name, (object) => this.isAlive(object) && this.kindOf(object) === 'user')
  }

  isAlive(object: number): boolean {
    return ((this.#facts[object] as number) & (presentBit | deletedBit)) === presentBit
  }

  isGroup(object: number): boolean {
    return groupFacts[this.#facts[object] as number] === 1
  }

  isContainer(object: number): boolean {
    return containerFacts[this.#facts[object] as number] === 1
  }

  isSecured(object: number): boolean {
    return ((this.#facts[object] as number) & securedBit) !== 0
  }

  kindOf(object: number): ObjectKind | undefined {
    return kinds[(this.#facts[object] as number) & kindBits]
  }

  idOf(object: number): string {
    return writeUuid(this.#ids.keyOf(object))
  }

  /** Below 0 when the id of the first comes before that of the second, as texts. */
  compareIds(first: number, second: number): number {
    const { words } = this.#ids
    for (let word = 0; word < 4; word++) {
      const difference = (words[first * 4 + word] as number) - (words[second * 4 + word] as number)
      if (difference !== 0) return difference
    }
    return 0
  }

  /** The ids as a list in JSON. */
  writeIds(objects: Int32Array): string {
    return this.#writer.write(objects, this.#ids.words)
  }
}

/**
 * 128 bits of a SHA-256 stand for a name: two names of one hash cannot be made, and a million names need no strings.
 */
export function hashName(name: string): Key {
  return readKey(createHash('sha256').update(foldPrincipalName(name)).digest())
}

/** `hashName` in SQL; null for objects without a name. */
export const nameHash = `substr(sha256(convert_to(folded_principal_name, 'UTF8')), 1, 16)`
