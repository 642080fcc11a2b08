import { type DirectoryObject, objectColumns } from '../objects/object-store.ts'
import type { Place } from './delta-token.ts'
import { type DeltaPage, type DeltaSource, type Member, mostMembers, showObjects } from './show-delta.ts'

const firstId = '00000000-0000-0000-0000-000000000000'

/**
 * A page of all living objects in the order of their ids. Objects change meanwhile: the changes since the walk began
 * come after it, so that the client misses none.
 */
export async function walkObjects(source: DeltaSource, at: Partial<Place> | undefined): Promise<DeltaPage> {
  const { tx, tenantId, kind, top, only, hasMembers } = source
  const comparison = tx.unsafe(at?.member === undefined ? '>' : '>=')
  const rows = await tx<DirectoryObject[]>`
    select ${objectColumns(tx)} from directory_object o
    where o.tenant_id = ${tenantId} and o.kind = ${kind} and o.deleted_at is null
      and o.id ${comparison} ${at?.object ?? firstId}::uuid
      and ${only ? tx`o.id = any(${only}::uuid[])` : tx`true`}
    order by o.id limit ${top + 1}`
  const shown = rows.slice(0, top)
  const [members, cut] = hasMembers ? await readMembers(source, shown, at) : [[], undefined]
  const whole = cut ? shown.filter(({ id }) => id <= cut.object) : shown
  const last = whole.at(-1)
  const ends = rows.length > top && last ? { object: last.id } : undefined
  const ids = whole.map(({ id }) => id)
  const next = cut ?? ends
  return { items: showObjects(source, ids, whole, members), next: next && { at: next } }
}

/** Members of these groups behind a place, and the place where they were cut because they are too many for a page. */
async function readMembers(
  source: DeltaSource,
  groups: readonly DirectoryObject[],
  at: Partial<Place> | undefined,
): Promise<[Member[], Place | undefined]> {
  const { tx, tenantId } = source
  const limit = mostMembers(source)
  const members = await tx<Member[]>`
    select e.container_id as "groupId", e.member_id as id, m.kind, false as "isDeleted", true as "isMember"
    from member_edge e
    join directory_object m on m.tenant_id = e.tenant_id and m.id = e.member_id and m.deleted_at is null
    where e.tenant_id = ${tenantId} and e.container_id = any(${groups.map(({ id }) => id)}::uuid[])
      and (e.container_id, e.member_id) > (${at?.object ?? firstId}::uuid, ${at?.member ?? firstId}::uuid)
    order by e.container_id, e.member_id limit ${limit + 1}`
  if (members.length <= limit) return [members, undefined]
  const shown = members.slice(0, limit)
  const last = shown.at(-1) as Member
  return [shown, { object: last.groupId, member: last.id }]
}
