import type { ObjectKind } from '../../objects/kinds/resource.ts'
import type { GroupChoice, Memberships, Target } from '../graph.ts'
import type { MembershipIndex } from './membership-index.ts'
import { hashName, type ObjectTable } from './object-table.ts'

const noGroups = new Int32Array()

/** The memberships of an object at the revision of the index. */
export function readMemberships(index: MembershipIndex, target: Target, choice: GroupChoice): Memberships {
  const { object, found } = findTarget(index, target)
  const groups = found ? index.groupsOf(object, fillChoice(choice)) : noGroups
  return new IndexedMemberships(index, found, groups)
}

/** Numbers of groups, which become texts when they are asked for. A number stands for the same id as long as the index. */
class IndexedMemberships implements Memberships {
  readonly revision: number
  readonly found: Memberships['found']
  readonly count: number
  readonly #objects: ObjectTable
  readonly #groups: Int32Array

  constructor({ revision, objects }: MembershipIndex, found: Memberships['found'], groups: Int32Array) {
    this.revision = revision
    this.found = found
    this.count = groups.length
    this.#objects = objects
    this.#groups = groups
  }

  get ids(): string[] {
    return Array.from(this.#groups, (group) => this.#objects.idOf(group))
  }

  get json(): string {
    return this.#objects.writeIds(this.#groups)
  }
}

export function findTarget(index: MembershipIndex, { key, isName, kind }: Target) {
  const { objects } = index
  const object = isName ? objects.findUser(hashName(key)) : index.numberOf(key)
  const actual = object >= 0 && objects.isAlive(object) ? objects.kindOf(object) : undefined
  if (actual === undefined || (kind !== undefined && kind !== actual)) return { object, found: undefined }
  return { object, found: new FoundObject(objects, object, actual) }
}

/** Its id becomes a text when it is asked for. */
class FoundObject {
  readonly kind: ObjectKind
  readonly #objects: ObjectTable
  readonly #object: number

  constructor(objects: ObjectTable, object: number, kind: ObjectKind) {
    this.#objects = objects
    this.#object = object
    this.kind = kind
  }

  get id(): string {
    return this.#objects.idOf(this.#object)
  }
}

export function fillChoice({
  securityEnabledOnly = false,
  includeRoles = false,
  limit = Number.POSITIVE_INFINITY,
}: GroupChoice) {
  return { securityEnabledOnly, includeRoles, limit }
}
