import { holds } from '../../auth/permit.ts'
import { fail } from '../../kernel/problem.ts'
import { pathPrefix } from '../../kernel/surface.ts'
import type { EntityContext, Expandable, RelationExpansion } from '../entities/entity-set.ts'
import type { Json } from '../entities/property.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import { resources } from '../objects/kinds/resources.ts'
import { type DirectoryObject, objectColumns } from '../objects/object-store.ts'
import { type ExpandItem, refuse } from '../odata/expand.ts'
import { readSelect } from '../odata/select.ts'
import { fingerprintList, writeSkipToken } from '../odata/skip-token.ts'
import { columnsOf } from './relation-source.ts'
import { type Relation, relations } from './relations.ts'
import { renderRelated } from './render-related.ts'

const defaultTop = 20
const maxTop = 100
/** Objects of one relation in one answer. */
const mostShown = 20_000

/** The direct relations of objects of a kind, for `$expand`; undefined where the kind has none. */
export function expandRelations(kind: ObjectKind): Expandable<DirectoryObject> | undefined {
  const { set } = resources[kind]
  const known = new Map(
    relations
      .filter(({ path, transitive }) => path === `/${set}/:id` && !transitive)
      .map((relation) => [relation.name.toLowerCase(), relation]),
  )
  if (known.size === 0) return undefined
  return {
    read(caller, item) {
      const relation = known.get(item.name.toLowerCase())
      if (relation && !holds(caller, relation.read)) return fail('InsufficientPrivileges')
      return relation && readOptions(relation, item)
    },
    show(context, rows, expansion) {
      const relation = known.get(expansion.name.toLowerCase())
      if (!relation) throw new Error(`${kind} has no relation ${expansion.name}`)
      return showRelated(context, set, relation, rows, expansion)
    },
  }
}

function readOptions({ name, to }: Relation, { options }: ExpandItem): RelationExpansion {
  for (const option of options.keys())
    if (option !== 'select' && option !== 'top')
      refuse(`does not take '$${option.slice(0, 50)}' inside of ${name}`)
  const top = options.get('top') ?? String(defaultTop)
  if (!/^[1-9]\d{0,2}$/.test(top) || Number(top) > maxTop)
    return refuse(`takes a $top from 1 to ${maxTop} inside of ${name}`)
  const kinds = to.map((kind) => resources[kind])
  return { name, select: readSelect(options.get('select'), kinds), top: Number(top) }
}

/** The related objects of each row; where there are more than asked for, a link to the rest of them. */
async function showRelated(
  { tx, caller, request }: EntityContext,
  set: string,
  relation: Relation,
  rows: readonly DirectoryObject[],
  { name, select, top }: RelationExpansion,
): Promise<Record<string, Json>[]> {
  if (rows.length * top > mostShown)
    refuse(`would return more than ${mostShown} objects: ask for smaller pages`)
  const { table, near, far } = columnsOf[relation.edge]
  const related = await tx<(DirectoryObject & { on: string })[]>`
    select row.id as on, related.* from unnest(${rows.map(({ id }) => id)}::uuid[]) as row (id)
    cross join lateral (
      select ${objectColumns(tx)} from ${tx(table)} e
      join directory_object o on o.tenant_id = e.tenant_id and o.id = e.${tx(far)}
      where e.tenant_id = ${caller.tenantId} and e.${tx(near)} = row.id
        and o.deleted_at is null and o.kind = any(${[...relation.to]}::text[])
      order by e.${tx(far)} limit ${top + 1}
    ) related order by related.id`
  const byRow = Map.groupBy(related, ({ on }) => on)
  return rows.map(({ id }) => {
    const found = byRow.get(id) ?? []
    const shown = found.slice(0, top)
    const typed = relation.single || relation.to.length > 1
    const value = shown.map((object) => renderRelated(caller, object, { typed, select }))
    if (relation.single) return value[0] ? { [name]: value[0] } : {}
    const last = shown.at(-1)
    if (found.length <= top || !last) return { [name]: value }
    const path = `/${set}/${id}/${name}`
    const fingerprint = fingerprintList(`${pathPrefix.directory}${path}`)
    const token = writeSkipToken(fingerprint, { sortValues: [], id: last.id })
    const selected = select ? `$select=${select.join(',')}&` : ''
    return {
      [name]: value,
      [`${name}@odata.nextLink`]: `${request.baseUrl}${path}?${selected}$skiptoken=${token}`,
    }
  })
}
