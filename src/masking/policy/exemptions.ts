import { Type } from 'typebox'
import type { Query } from '../../db/query.ts'
import { foldDisplayName } from '../../kernel/fold-display-name.ts'
import { trimDisplayName } from '../../kernel/trim-display-name.ts'
import { isUuid } from '../../kernel/uuid.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import type { MaskingPorts, PrincipalType } from '../operation.ts'
import { scopeOf } from '../place.ts'
import type { Site } from '../resource.ts'
import { nullableString, oneOf } from '../schemas.ts'
import { splitEntries } from './exempt-entries.ts'

const kinds = [
  'DatabaseRole',
  'User',
  'Group',
  'ServicePrincipal',
  'Everybody',
  'Nothing',
  'Unknown',
] as const

/** An entry of the exempt list, and whom it exempts. */
export interface Exemption {
  readonly entry: string
  /** `Nothing`: no role and no object of the directory has that name. `Unknown`: the roles could not be asked for. */
  readonly kind: (typeof kinds)[number]
  /** The object id; null of a role, and of a principal that the caller may not read. */
  readonly id: string | null
  readonly name: string
  /** A database role has the name of the entry, and the entry does not exempt it. */
  readonly roleNotExempt: boolean
}

export const exemptionAnswer = Type.Object({
  entry: Type.String(),
  kind: oneOf(kinds),
  id: nullableString,
  name: Type.String(),
  roleNotExempt: Type.Boolean(),
})

export interface Place {
  readonly tx: Query
  readonly tenantId: string
  readonly database: DatabaseRow | null
  readonly ports: MaskingPorts
}

/** True for an entry whose id and name the caller may see. */
type MaySee = (entry: string, type: PrincipalType) => boolean

/**
 * Id and name of a principal are shown to callers who may read it in the directory. Callers who may write the policy also
 * see those that the policy has: they must know whom they exempt, and the audit shows who added an entry. A proposal
 * leaves no trace: with ids and names it would be a way to read the directory.
 */
export async function allowSight({ tx, caller, params, ports }: Site, stored: string): Promise<MaySee> {
  const known = new Set(splitEntries(stored))
  const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'
  const isWriter = await ports.mayAct(tx, caller, action, scopeOf(params))
  return (entry, type) => (isWriter && known.has(entry)) || ports.principals.mayRead(caller, type)
}

/** Says of each entry whom it exempts, groups by the name that they have now. */
export async function describeExemptions(
  exemptPrincipals: string,
  place: Place,
  maySee: MaySee,
): Promise<Exemption[]> {
  const entries = splitEntries(exemptPrincipals)
  if (entries.length === 0) return []
  const { named, roles, taken } = await lookUp(entries, place)
  return entries.map((entry): Exemption => {
    const principal = named.get(entry)
    const isRole = roles?.has(entry) ?? false
    const roleNotExempt = isRole && (principal !== undefined || taken.has(entry))
    if (principal && !maySee(entry, principal.type))
      return { entry, kind: principal.type, id: null, name: entry, roleNotExempt }
    if (principal)
      return { entry, kind: principal.type, id: principal.id, name: principal.name, roleNotExempt }
    const isEverybody = entry.toLowerCase() === 'public'
    const kind = isEverybody ? 'Everybody' : !roles ? 'Unknown' : isRole ? 'DatabaseRole' : 'Nothing'
    return { entry, kind, id: null, name: entry, roleNotExempt }
  })
}

const groupPrefix = /^group:/i

export const namesGroup = (entry: string) => groupPrefix.test(entry)

interface Asked extends Place {
  /** Answers 400; `at` is the place of the entry in the list. */
  refuse(at: number, reason: string): never
}

/**
 * Replaces groups that are named as `group:NAME` by their ids: a name can be given to another group later. A bare name
 * is never taken for a group's: people who may create groups could name one like an entry that exempts nothing yet, or
 * nothing any more. For the same reason an entry that the database has already stays as it is (MASK-243): the caller
 * sends it back, and names nobody.
 */
export async function resolveGroups(entries: readonly string[], place: Asked): Promise<string[]> {
  const { tx, tenantId, database, ports, refuse } = place
  const stored = new Set(splitEntries(database?.exemptPrincipals ?? ''))
  const isAsked = (entry: string) => namesGroup(entry) && !stored.has(entry)
  const nameOf = (entry: string) => trimDisplayName(entry.replace(groupPrefix, ''))
  const wanted = entries.filter(isAsked).map(nameOf)
  if (wanted.length === 0) return [...entries]
  const found = await ports.principals.findGroupsNamed(tx, tenantId, wanted)
  return entries.map((entry, at) => {
    if (!isAsked(entry)) return entry
    // MASK-242: a group that has the UUID of a deleted one as its name is not meant.
    if (isUuid(nameOf(entry)))
      return refuse(at, `has an id behind 'group:'. Give the id by itself: ${nameOf(entry)}`)
    const groups = found.filter(({ name }) => foldDisplayName(name) === foldDisplayName(nameOf(entry)))
    const [group, ...others] = groups
    if (!group) return refuse(at, `names no group: '${nameOf(entry)}'`)
    if (others.length === 0) return group.id
    const ids = groups.map(({ id }) => id).join(', ')
    return refuse(at, `names several groups: '${nameOf(entry)}'. Name one by its id: ${ids}`)
  })
}

async function lookUp(entries: readonly string[], { tx, tenantId, database, ports }: Place) {
  const named = await ports.principals.describe(tx, tenantId, entries)
  const reached = database?.bound ? await ports.catalogs.findRoles(database, entries) : null
  const { notes } = database?.bound ? await ports.enforcement.report(database.id) : { notes: [] }
  return {
    named: new Map(named.map((one) => [one.entry, one])),
    /** Null: the database is not bound, or does not answer. */
    roles: reached && 'value' in reached ? new Set(reached.value) : null,
    /** Entries whose role is not the one that they meant, by the last turn (ENF-194). */
    taken: new Set(notes.filter(({ code }) => code === 'ExemptNameTaken').map(({ target }) => target)),
  }
}
