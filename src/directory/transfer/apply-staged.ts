import type { Change } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'
import type { Fragment } from '../../db/query.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import { memberKinds, ownerKinds, roleMemberKinds } from '../membership/relations.ts'
import type { GivenRight } from '../rights/carried-rights.ts'
import {
  type EdgeRules,
  type Fault,
  findDeletedApplications,
  findEdgeFaults,
  findObjectFaults,
  findOwnClientFaults,
  findRepeatedEdges,
} from './find-faults.ts'
import type { MadePasswords } from './first-passwords.ts'
import { type Definition, type ImportCounts, ImportFailed, maxFaults } from './import-result.ts'
import {
  dropUnchanged,
  findLostMatches,
  findUpdateFaults,
  lockUpdates,
  matchByName,
  moveUpdates,
  storeUpdates,
} from './match-staged.ts'
import type { Spoken } from './prune.ts'
import { resolveNamedMembers } from './resolve-named-members.ts'
import { ignoreCopiedRoles, settleAppRoles } from './settle-app-roles.ts'
import { stages } from './stage.ts'
import { checkCustomProperties, storeDefinitions } from './store-definitions.ts'
import { noExtensions, storeExtensions } from './store-extensions.ts'

interface Staged {
  readonly counts: ImportCounts
  readonly definitions: readonly Definition[]
  /** The faults of single lines, which were found while reading. */
  readonly faults: readonly Fault[]
  /** The rights that masking gives. */
  listGiven(): Promise<readonly GivenRight<string>[]>
  /** Called before any object is locked, once the staged objects are the new ones alone. */
  makePasswords(): Promise<MadePasswords>
  /** Called once every line has its ids, before any is dropped. */
  rememberSpoken(): Promise<Spoken> | undefined
}

interface Applied {
  readonly created: number
  readonly changed: number
  readonly unchanged: number
  /** The changes that `logImport` is to log. */
  readonly unlogged: number
  /** Of service principals whose application changed, for the log behind the others. */
  readonly copied: readonly Change[]
  /** Of the new users, to be stored. */
  readonly passwords: MadePasswords
  readonly spoken: Spoken | undefined
}

const edges: readonly EdgeRules[] = [
  {
    stage: 'member',
    containers: ['group'],
    members: memberKinds,
    words: ['group', 'member'],
  },
  {
    stage: 'roleMember',
    containers: ['directoryRole'],
    members: roleMemberKinds,
    words: ['role', 'member'],
  },
  {
    stage: 'owner',
    containers: ['group', 'application', 'servicePrincipal', 'device'],
    members: ownerKinds,
    words: ['object', 'owner'],
  },
]

/** Checks what is staged as a whole and stores it. With faults, everything is still checked, to name them all. */
export async function applyStaged(tx: Tx, tenantId: string, staged: Staged): Promise<Applied> {
  const { counts, definitions } = staged
  const faults = [...staged.faults]
  const left = () => Math.max(maxFaults - faults.length, 1)

  faults.push(...(await matchByName(tx, tenantId, left())))
  faults.push(...(await resolveNamedMembers(tx, tenantId, left(), staged.listGiven)))
  const spoken = await staged.rememberSpoken()
  const same = await dropRepeated(tx, tenantId, counts)
  const objects = await applyObjects(tx, tenantId, staged, faults)
  const defined = await storeDefinitions(tx, tenantId, definitions)
  faults.push(...defined.faults)
  faults.push(...(await checkCustomProperties(tx, tenantId, left())))
  if (edges.some(({ stage }) => counts[stage] > same[stage])) await lockEnds(tx, tenantId)
  for (const rules of edges) {
    const fresh = counts[rules.stage] - same[rules.stage]
    if (fresh === 0) continue
    const stored = await storeEdges(tx, tenantId, rules, fresh, faults)
    faults.push(...stored.faults)
    same[rules.stage] += stored.unchanged
  }
  const extensions = counts.extension > 0 ? await storeExtensions(tx, tenantId, left()) : noExtensions
  faults.push(...extensions.faults)
  if (faults.length > 0) throw new ImportFailed(sortFaults(faults))
  const changed = objects.changed + extensions.changed
  const unchanged =
    objects.unchanged + same.member + same.roleMember + same.owner + extensions.unchanged + defined.unchanged
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const created = total - changed - unchanged
  const unlogged = created + changed - definitions.length + defined.unchanged
  const { passwords, copied } = objects
  return { created, changed, unchanged, unlogged, copied, passwords, spoken }
}

/** Stores new objects and changes of those that are there. */
async function applyObjects(
  tx: Tx,
  tenantId: string,
  { counts: { object: lines }, makePasswords }: Staged,
  faults: Fault[],
): Promise<{ changed: number; unchanged: number; copied: readonly Change[]; passwords: MadePasswords }> {
  const left = () => Math.max(maxFaults - faults.length, 1)
  const known = lines > 0 ? await moveUpdates(tx, tenantId) : 0
  if (known > 0) await ignoreCopiedRoles(tx, tenantId)
  faults.push(...(await findLostMatches(tx, left())))
  faults.push(...(await findOwnClientFaults(tx, tenantId, left())))
  faults.push(...(await findIncomplete(tx, left())))
  let unchanged = known > 0 ? await dropUnchanged(tx) : 0
  const passwords = faults.length === 0 ? await makePasswords() : noPasswords
  faults.push(...passwords.faults)
  if (lines > unchanged) {
    faults.push(...(await lockUpdates(tx, tenantId, left())))
    unchanged += await dropUnchanged(tx)
    faults.push(...(await findDeletedApplications(tx, tenantId, left())))
  }
  const changed = known - unchanged
  if (changed > 0) {
    faults.push(...(await findUpdateFaults(tx, left())))
    faults.push(...(await findObjectFaults(tx, tenantId, left())))
    if (faults.length === 0) faults.push(...(await tryUpdates(tx, tenantId)))
  }
  // Behind faults of changes they are all named already. Without any, another caller has taken a name since.
  const explain = async () => (changed > 0 && faults.length > 0 ? [] : findObjectFaults(tx, tenantId, left()))
  faults.push(...(await storeObjects(tx, tenantId, lines - known, explain, faults)))
  const copied = faults.length === 0 ? await settleAppRoles(tx, tenantId) : []
  return { changed, unchanged, copied, passwords }
}

const noPasswords: MadePasswords = { faults: [], hashed: [], invitations: [] }

/** Stores the changes. Where another caller has taken a name since the names were checked, it returns the lines of that name. */
async function tryUpdates(tx: Tx, tenantId: string): Promise<Fault[]> {
  try {
    await tx.savepoint((inner) => storeUpdates(inner, tenantId))
    return []
  } catch (error) {
    if (codeOf(error) !== sqlstate.uniqueViolation) throw error
    const faults = await findObjectFaults(tx, tenantId, maxFaults)
    if (faults.length === 0) throw error
    return faults
  }
}

/** New objects that lack a property which they need. */
async function findIncomplete(tx: Tx, limit: number): Promise<Fault[]> {
  return await tx<Fault[]>`
    select line, missing as reason from import_object where missing is not null order by 1 limit ${limit}`
}

/** Forgets staged edges that are there already, and returns how many they were. */
async function dropRepeated(tx: Tx, tenantId: string, counts: ImportCounts) {
  const dropped = { member: 0, roleMember: 0, owner: 0 }
  for (const { stage } of edges)
    if (counts[stage] > 0) dropped[stage] = await dropPresent(tx, tenantId, stage)
  return dropped
}

async function dropPresent(tx: Tx, tenantId: string, stage: EdgeRules['stage']): Promise<number> {
  const table = tx(stages[stage].table)
  const { count } =
    stage === 'owner'
      ? await tx`
        delete from ${table} staged using owner_edge edge
        where edge.tenant_id = ${tenantId} and edge.object_id = staged.container_id
          and edge.owner_id = staged.member_id`
      : await tx`
        delete from ${table} staged using member_edge edge
        where edge.tenant_id = ${tenantId} and edge.container_id = staged.container_id
          and edge.member_id = staged.member_id`
  return count
}

/**
 * Locks both ends of new edges before these are checked: a DELETE between the check and the insert would leave edges of a deleted
 * object, which count once it is restored. The foreign keys take the same locks, but look for rows alone. New objects need none.
 */
async function lockEnds(tx: Tx, tenantId: string): Promise<void> {
  await tx`
    with locked as materialized (
      select from directory_object o
      where o.tenant_id = ${tenantId} and o.id in (
        select container_id from import_member union select member_id from import_member
        union select container_id from import_role_member union select member_id from import_role_member
        union select container_id from import_owner union select member_id from import_owner
        except select id from import_object)
      order by o.id for key share
    )
    select count(*) from locked`
}

function sortFaults(faults: readonly Fault[]): Fault[] {
  return [...faults].sort((one, other) => one.line - other.line).slice(0, maxFaults)
}

class Repeated extends Error {}

/**
 * Inserts and counts. Only when rows were skipped, `explain` finds out which and why, in the state before the insert.
 * The other rows are inserted all the same, so that the checks that follow find them. With neither these nor `known` faults it
 * throws where rows are missing: the import would log what it did not store.
 */
async function insertAll(
  tx: Tx,
  expected: () => number,
  insert: (tx: Tx) => Fragment,
  explain: () => Promise<Fault[]>,
  known: readonly Fault[],
): Promise<Fault[]> {
  try {
    await tx.savepoint(async (inner) => {
      const { count } = await insert(inner)
      if (count < expected()) throw new Repeated()
    })
    return []
  } catch (error) {
    if (!(error instanceof Repeated)) throw error
    const before = expected()
    const faults = await explain()
    // Fewer are expected: other callers stored some, and may store more meanwhile.
    if (expected() < before && faults.length === 0)
      return await insertAll(tx, expected, insert, explain, known)
    const { count } = await insert(tx)
    if (count < expected() && faults.length + known.length === 0)
      throw new Error('an import did not store every line')
    return faults
  }
}

async function storeObjects(
  tx: Tx,
  tenantId: string,
  expected: number,
  explain: () => Promise<Fault[]>,
  known: readonly Fault[],
): Promise<Fault[]> {
  if (expected === 0) return []
  const insert = (inner: Tx) => inner`
    insert into directory_object (tenant_id, id, kind, properties, created_at)
    select ${tenantId}, id, kind, coalesce(defaults, '{}') || properties, coalesce(created_at, now())
    from import_object where missing is null order by id
    on conflict do nothing`
  const faults = await insertAll(tx, () => expected, insert, explain, known)
  await tx`analyze directory_object`
  return faults
}

async function storeEdges(
  tx: Tx,
  tenantId: string,
  rules: EdgeRules,
  expected: number,
  known: readonly Fault[],
): Promise<{ faults: Fault[]; unchanged: number }> {
  const limit = Math.max(maxFaults - known.length, 1)
  const faults = await findEdgeFaults(tx, tenantId, rules, limit)
  if (faults.length > 0) return { faults, unchanged: 0 }
  const table = tx(stages[rules.stage].table)
  // In the order of the primary key: its pages are filled one after the other.
  const insert = (inner: Tx) =>
    rules.stage === 'owner'
      ? inner`
        insert into owner_edge (tenant_id, object_id, owner_id)
        select ${tenantId}, container_id, member_id from ${table} order by container_id, member_id
        on conflict do nothing`
      : inner`
        insert into member_edge (tenant_id, container_id, member_id)
        select ${tenantId}, container_id, member_id from ${table} order by member_id, container_id
        on conflict do nothing`
  let unchanged = 0
  // Edges that callers have added since are what the file wants.
  const explain = async () => {
    unchanged += await dropPresent(tx, tenantId, rules.stage)
    return await findRepeatedEdges(tx, tenantId, rules, limit)
  }
  const found = await insertAll(tx, () => expected - unchanged, insert, explain, known)
  return { faults: found, unchanged }
}
