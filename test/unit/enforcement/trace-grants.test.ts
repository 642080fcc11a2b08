import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  ColumnGrant,
  Grant,
  Guard,
  ObservedTwin,
  Relation,
  Role,
  Snapshot,
} from '../../../src/enforcement/catalog.ts'
import { grantAccess, mergeGrants, remember } from '../../../src/enforcement/grants/access.ts'
import { exemptions } from '../../../src/enforcement/grants/roles.ts'
import { runs } from '../../support/runs.ts'

interface Acl {
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly ColumnGrant[]
}

const people = ['ann', 'bea', 'cid', 'dan'] as const
const columns = [1, 2, 3] as const

function generator(seed: number) {
  let state = seed
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff
    return (state >> 8) / 0x800000
  }
  const chance = (share: number) => next() < share
  return {
    chance,
    pick: <T>(list: readonly T[]) => list[Math.floor(next() * list.length)] as T,
    some: <T>(list: readonly T[], share: number) => list.filter(() => chance(share)),
  }
}

/** Grants as PostgreSQL takes them: each by the owner, or by a role that may pass it on. */
function giveAtRandom({ chance, pick }: ReturnType<typeof generator>): Acl {
  const grants: Grant[] = []
  const columnGrants: ColumnGrant[] = []
  for (let at = 0; at < 6; at++) {
    const column = chance(0.5) ? pick(columns) : undefined
    const grantor = pick(['owner', 'owner', ...people])
    const grantee = chance(0.15) ? null : pick(people)
    const passed = [...grants, ...columnGrants.filter((one) => one.column === column)]
    const isAble = grantor === 'owner' || passed.some((one) => one.grantable && one.grantee === grantor)
    const own: readonly Grant[] = column === undefined ? grants : passed.filter((one) => 'column' in one)
    const isThere = own.some((one) => one.grantor === grantor && one.grantee === grantee)
    if (grantor === grantee || !isAble || isThere) continue
    const grant = { grantor, grantee, grantable: grantee !== null && chance(0.4) }
    if (column === undefined) grants.push(grant)
    else columnGrants.push({ ...grant, column })
  }
  return { grants, columnGrants }
}

function relationOf({ grants, columnGrants }: Acl): Relation {
  const bare = ({ grantor, grantee, grantable }: Grant): Grant => ({ grantor, grantee, grantable })
  return {
    oid: 1,
    schema: 'app',
    name: 't',
    owner: 'owner',
    columns: columns.map((number) => ({
      number,
      name: `c${number}`,
      acl: columnGrants.filter((grant) => grant.column === number).map(bare),
    })),
    grants: grants.map(bare),
    rights: [],
    writers: [],
  } as unknown as Relation
}

function list(grants: readonly (Grant & { readonly column?: number })[], isByGrantor: boolean): string[] {
  return grants
    .map(({ grantor, grantee, grantable, column }) =>
      JSON.stringify([grantee, column, grantable, isByGrantor ? grantor : '']),
    )
    .sort()
}

const all = ({ grants, columnGrants }: Acl) => list([...grants, ...columnGrants], true)

/** What a turn makes of the access lists: nothing where each role has what it is to have, else all of it anew, by the owner. */
function turn(acl: Acl, wanted: Acl): Acl {
  const key = ({ grants, columnGrants }: Acl) => [
    list(mergeGrants(grants), false),
    list(mergeGrants(columnGrants), false),
  ]
  const ofOwner = <G extends Grant>(grants: readonly G[]) =>
    grants.map((grant) => ({ ...grant, grantor: 'owner' }))
  if (JSON.stringify(key(acl)) === JSON.stringify(key(wanted))) return acl
  return { grants: ofOwner(wanted.grants), columnGrants: ofOwner(wanted.columnGrants) }
}

test('without a change by hand, each grant is remembered as it was given, whichever roles are exempt and columns masked', () => {
  for (let seed = 1; seed <= runs(3000); seed++) {
    const random = generator(seed)
    const { chance, some } = random
    const given = giveAtRandom(random)
    const memberOf = { ann: some(['bea'], 0.5), bea: [], cid: some(['dan'], 0.5), dan: [] }
    const roles = new Map(
      people.map((name, at) => [
        name as string,
        { oid: at + 1, name, memberOf: memberOf[name] } as unknown as Role,
      ]),
    )
    let [acl, guard]: [Acl, Guard | undefined] = [given, undefined]
    let twins: ReadonlyMap<string, ObservedTwin> = new Map()
    let exempt: string[] = []
    for (let at = 0; at < 4; at++) {
      const relation = relationOf(acl)
      // The list of the database may be of a turn that did not change this relation, or be gone.
      const listed: readonly string[] = chance(0.3) ? some(people, 0.5) : exempt
      const isListed = chance(0.8)
      const remembered = remember(
        relation,
        guard,
        (grantee) => (isListed ? grantee !== null && listed.includes(grantee) : undefined),
        twins,
      )
      assert.deepEqual(all(remembered), all(given), `seed ${seed}, turn ${at}`)
      exempt = some(people, 0.3)
      const hidden = new Set<number>(some(columns, 0.4))
      const snapshot = { roles } as unknown as Snapshot
      const access = grantAccess(relation, remembered, hidden, exemptions(roles, exempt), snapshot, null)
      acl = turn(acl, access)
      guard = {
        ...access.remembered,
        oid: 1,
        pins: [...hidden].map((number) => ({ rule: '', schema: 'app', table: 't', column: '', number })),
        lent: access.lent,
        hidesAll: hidden.size === columns.length,
        twin: chance(0.7) ? { schema: 'masked_app', name: 't', wanted: '', made: '' } : null,
        order: null,
      }
      const twin = {
        columns: columns.map((number) => ({ name: `c${number}` })),
        grants: mergeGrants(remembered.grants),
        columnGrants: mergeGrants(remembered.columnGrants).map((grant) => ({
          ...grant,
          column: `c${grant.column}`,
        })),
      }
      twins = new Map([['"masked_app"."t"', twin as unknown as ObservedTwin]])
    }
  }
})
