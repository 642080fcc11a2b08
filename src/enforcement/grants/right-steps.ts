import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Relation, Right } from '../catalog.ts'
import type { GrantChange, Step } from '../plan.ts'
import { actAs, followPassedOn, giveBack, listPassers, quoteGrantee, withOption } from './grant-steps.ts'
import { keyOfRight, withoutOrphans } from './rights.ts'

/** All of them go and those that are wanted come back: CASCADE takes along what was passed on. What several roles granted is granted once. */
export function setRights(steps: Step[], relation: Relation, rights: readonly Right[]): void {
  const wanted = mergeRights(rights)
  const list = (some: readonly Right[]) =>
    JSON.stringify(some.map((right) => `${keyOfRight(right)} ${right.grantable}`).sort())
  if (list(mergeRights(relation.rights)) === list(wanted)) return
  steps.push(...revokeAll(relation, 'it leads to values'))
  for (const right of wanted)
    steps.push({
      sql: grantText(right, relation),
      why: 'as exempt roles had it',
      change: changeOf(right, relation),
      ...actAs(relation),
    })
}

export function restoreRights(steps: Step[], relation: Relation, remembered: readonly Right[]): void {
  const key = (rights: readonly Right[]) =>
    JSON.stringify(rights.map((right) => [keyOfRight(right), right.grantor, right.grantable]).sort())
  if (key(relation.rights) === key(remembered)) return
  // What is given back is not judged by its result.
  steps.push(...revokeAll(relation, 'masking ends').map(({ change: _, ...step }) => step))
  for (const right of inOrder(remembered, relation.owner))
    steps.push(giveBack(grantText(right, relation), right, relation))
}

/** One for each grantee, privilege and column; the stronger of two wins. */
function mergeRights(rights: readonly Right[]): Right[] {
  const merged = new Map<string, Right>()
  for (const right of rights) {
    const other = merged.get(keyOfRight(right))
    if (!other || (right.grantable && !other.grantable)) merged.set(keyOfRight(right), right)
  }
  return [...merged.values()]
}

/** A grantor must hold its right before it passes it on: without it, PostgreSQL may warn and grant nothing. */
function inOrder(rights: readonly Right[], owner: string): Right[] {
  const ordered = withoutOrphans(rights, owner)
  return [...ordered, ...rights.filter((right) => !ordered.includes(right))]
}

function revokeAll(relation: Relation, why: string): Step[] {
  const { oid, rights, owner } = relation
  if (rights.length === 0) return []
  const on = quoteQualified(relation.schema, relation.name)
  // Of these, columns have it alone.
  const passers = listPassers(
    rights.filter(({ privilege }) => privilege === 'REFERENCES'),
    owner,
  )
  const columns = relation.columns.map(({ name }) => name)
  const roles = new Set([...rights.map(({ grantee }) => grantee), ...passers])
  const privileges = [...new Set(rights.map(({ privilege }) => privilege))]
  return [
    ...followPassedOn({ on, oid, owner, columns, ...actAs(relation) }, 'REFERENCES', passers),
    {
      sql: `REVOKE ${privileges.join(', ')} ON ${on} FROM ${[...roles].map(quoteGrantee).join(', ')} CASCADE`,
      why,
      change: { on, oid, privileges },
      ...actAs(relation),
    },
  ]
}

function nameColumn({ column }: Right, { columns }: Relation): string | undefined {
  return columns.find(({ number }) => number === column)?.name
}

function changeOf(right: Right, relation: Relation): GrantChange {
  const { privilege, grantee, grantable } = right
  const name = nameColumn(right, relation)
  return {
    on: quoteQualified(relation.schema, relation.name),
    oid: relation.oid,
    privileges: [privilege],
    ...(name !== undefined && { columns: [name] }),
    to: [grantee],
    grantable,
  }
}

function grantText(right: Right, relation: Relation): string {
  const { privilege, grantee, grantable } = right
  const name = nameColumn(right, relation)
  const place = name === undefined ? '' : ` (${quoteIdentifier(name)})`
  return `GRANT ${privilege}${place} ON ${quoteQualified(relation.schema, relation.name)} TO ${quoteGrantee(grantee)}${withOption(grantable)}`
}
