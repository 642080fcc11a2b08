import { selectEntries } from '../../db/change-log.ts'
import { memberKinds } from '../membership/relations.ts'
import type { Place } from './delta-token.ts'
import {
  type DeltaPage,
  type DeltaSource,
  type Member,
  mostMembers,
  readObjects,
  showObjects,
} from './show-delta.ts'

/** A place in the log: behind a whole entry, or within one that is about many objects. */
export type LogPlace = Partial<Place> & { readonly revision: number }

interface Entry {
  readonly revision: number
  readonly entity: string
  readonly id: string
  readonly kind: string
  readonly other: string | null
}

/** An object, or a membership of a group, that an entry of the log is about. */
interface Touched {
  readonly revision: number
  readonly object: string
  readonly member: string | null
}

const lifeChanges = ['created', 'updated', 'deleted', 'restored', 'purged']
const memberChanges = ['memberAdded', 'memberRemoved']
/** A deleted object is a member no more, until it is restored: its groups change with it. */
const hidingChanges = ['deleted', 'restored']
/** A client that reads of one of these knows no members of the group. */
const appearances = ['created', 'restored']

/**
 * A page of what changed behind `at`, up to the revision `until`. Each object is shown as it is now, perhaps newer than
 * `until`: later changes come again in the next round. Undefined when the log does not tell what changed.
 */
export async function readChanges(
  source: DeltaSource,
  at: LogPlace,
  until: number,
): Promise<DeltaPage | undefined> {
  const entries = await readEntries(source, at, until)
  if (entries.some(({ kind }) => kind === 'rewritten')) return undefined
  const reached = entries.length < source.top ? until : (entries.at(-1)?.revision ?? until)
  const limit = mostMembers(source)
  const all = [...touchedBy(source, entries), ...(await readEdges(source, entries, at, limit + 1))]
    .filter((one) => isBehind(one, at) && (source.only?.includes(one.object) ?? true))
    .sort(compare)
  const page = all.slice(0, limit)
  const last = page.at(-1)
  const rest = reached < until ? { at: { revision: reached } } : undefined
  return {
    items: await showTouched(source, page),
    next: all.length > limit && last ? { at: { ...last, member: last.member ?? undefined } } : rest,
  }
}

async function readEntries(source: DeltaSource, at: LogPlace, until: number): Promise<Entry[]> {
  const { tx, tenantId, kind, hasMembers, only, top } = source
  const isFollowed = only ? tx`entity_id = any(${only}::text[])` : tx`true`
  const from = at.object === undefined ? at.revision + 1 : at.revision
  return await tx<Entry[]>`
    select revision, entity, entity_id as id, kind, other
    from (${selectEntries(tx, tenantId, from, until)}) entry
    where entity = 'directory' or entity = ${kind} and kind = any(${lifeChanges}) and ${isFollowed}
      or ${hasMembers} and (entity = 'group' and kind = any(${memberChanges}) and ${isFollowed}
        or entity = any(${memberKinds}) and kind = any(${hidingChanges}))
    order by revision limit ${top}`
}

function touchedBy({ kind: wanted, hasMembers }: DeltaSource, entries: readonly Entry[]): Touched[] {
  return entries.flatMap(({ revision, entity, id, kind, other }) => {
    if (entity !== wanted) return []
    if (lifeChanges.includes(kind)) return [{ revision, object: id, member: null }]
    return hasMembers ? [{ revision, object: id, member: other }] : []
  })
}

/** The memberships that entries about whole objects concern: members of a group that appears, groups of a member. */
async function readEdges(
  { tx, tenantId, kind: wanted, hasMembers }: DeltaSource,
  entries: readonly Entry[],
  at: LogPlace,
  limit: number,
): Promise<Touched[]> {
  const down = entries.filter(({ entity, kind }) => entity === wanted && appearances.includes(kind))
  const up = entries.filter(({ kind }) => hidingChanges.includes(kind))
  if (!hasMembers || down.length + up.length === 0) return []
  const list = (some: readonly Entry[]) =>
    tx`unnest(${some.map(({ revision }) => revision)}::bigint[], ${some.map(({ id }) => id)}::uuid[])
      as entry (revision, id)`
  const behind = tx`(entry.revision > ${at.revision} or (e.container_id, e.member_id) >
    (${at.object ?? lastId}::uuid, ${at.member ?? firstId}::uuid))`
  return await tx<Touched[]>`
    select entry.revision, edge.object, edge.member from ${list(down)} cross join lateral (
      select e.container_id as object, e.member_id as member from member_edge e
      where e.tenant_id = ${tenantId} and e.container_id = entry.id and ${behind}
      order by e.member_id limit ${limit}) edge
    union all
    select entry.revision, edge.object, edge.member from ${list(up)} cross join lateral (
      select e.container_id as object, e.member_id as member from member_edge e
      join directory_object o on o.tenant_id = e.tenant_id and o.id = e.container_id and o.kind = 'group'
      where e.tenant_id = ${tenantId} and e.member_id = entry.id and ${behind}
      order by e.container_id limit ${limit}) edge`
}

const firstId = '00000000-0000-0000-0000-000000000000'
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

function isBehind(one: Touched, { revision, object, member }: LogPlace): boolean {
  return (
    one.revision > revision ||
    (object !== undefined && compare(one, { revision, object, member: member ?? null }) > 0)
  )
}

/** The order of the database: of revisions, then of ids, an object before its members. */
function compare(one: Touched, other: Touched): number {
  if (one.revision !== other.revision) return one.revision - other.revision
  const [a, b] = [`${one.object} ${one.member ?? ''}`, `${other.object} ${other.member ?? ''}`]
  return a < b ? -1 : a > b ? 1 : 0
}

async function showTouched(source: DeltaSource, page: readonly Touched[]) {
  const ids = [...new Set(page.map(({ object }) => object))]
  const rows = await readObjects(source, ids)
  const pairs = new Map(
    page.filter(({ member }) => member !== null).map((one) => [`${one.object} ${one.member}`, one]),
  )
  return showObjects(source, ids, rows, await readMembers(source, [...pairs.values()]))
}

async function readMembers(
  { tx, tenantId }: DeltaSource,
  pairs: readonly Touched[],
): Promise<readonly Member[]> {
  if (pairs.length === 0) return []
  return await tx<Member[]>`
    select pair.group_id as "groupId", pair.id, m.kind, m.deleted_at is not null as "isDeleted",
      e.member_id is not null as "isMember"
    from unnest(${pairs.map(({ object }) => object)}::uuid[], ${pairs.map(({ member }) => member)}::uuid[])
      as pair (group_id, id)
    left join directory_object m on m.tenant_id = ${tenantId} and m.id = pair.id
    left join member_edge e
      on e.tenant_id = ${tenantId} and e.container_id = pair.group_id and e.member_id = pair.id`
}
