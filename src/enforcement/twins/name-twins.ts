import { quoteQualified } from '../../db/quote.ts'
import type { Relation, Snapshot, Twin } from '../catalog.ts'
import { shadowSchemaName } from '../names.ts'
import type { Masks } from './assign-masks.ts'

export type TwinName = Pick<Twin, 'schema' | 'name'>

/**
 * Returns the name of each relation's twin, by oid. No two relations get the same: the name that is derived for one schema can be that of
 * another schema's twins, and any role that may create schemas can choose such a name. A relation that has its twin under the name keeps
 * it, so that a new schema moves no twin of another; then those with a rule of their own choose.
 */
export function nameTwins(
  { relations, guards, shadowSchemas, twinOwner }: Snapshot,
  masks: ReadonlyMap<number, Masks>,
): ReadonlyMap<number, TwinName> {
  const recorded = new Map(guards.map(({ oid, twin }) => [oid, twin]))
  const isForeign = (schema: string) => (shadowSchemas.get(schema) ?? twinOwner) !== twinOwner
  const schemas = new Set(relations.map(({ schema }) => schema))
  const usual = new Map([...schemas].map((schema) => [schema, shadowSchemaName(schema, isForeign)]))
  const rank = (relation: Relation) => {
    const twin = recorded.get(relation.oid)
    if (twin && isStuck(relation)) return 0
    const keeps = twin?.schema === usual.get(relation.schema) && twin?.name === relation.name
    return (keeps ? 1 : 3) + (masks.has(relation.oid) ? 0 : 1)
  }
  const ranked = relations.map((relation) => ({ relation, rank: rank(relation) }))
  const names = new Map<number, TwinName>()
  const used = new Set<string>()
  for (const { relation } of ranked.sort((one, other) => one.rank - other.rank)) {
    const { oid, name } = relation
    const twin = recorded.get(oid)
    const isUsed = (schema: string) => used.has(quoteQualified(schema, name))
    const first = usual.get(relation.schema) ?? ''
    const free = () => shadowSchemaName(relation.schema, (schema) => isForeign(schema) || isUsed(schema))
    const chosen = twin && isStuck(relation) ? twin : { schema: isUsed(first) ? free() : first, name }
    names.set(oid, { schema: chosen.schema, name: chosen.name })
    used.add(quoteQualified(chosen.schema, chosen.name))
  }
  return names
}

/** Its twin stays where it is: the role of the binding may not change it. */
function isStuck({ managed }: Relation): boolean {
  return managed === 'not'
}
