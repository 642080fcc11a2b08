import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Relation, Right } from '../catalog.ts'
import type { Step } from '../plan.ts'
import { actAs, giveBack, quoteGrantee, withOption } from './grant-steps.ts'
import { keyOfRight } from './rights.ts'

/** All of them go and those that are wanted come back: CASCADE takes along what was passed on. */
export function setRights(steps: Step[], relation: Relation, wanted: readonly Right[]): void {
  const list = (rights: readonly Right[]) =>
    JSON.stringify(rights.map((right) => `${keyOfRight(right)} ${right.grantable}`).sort())
  if (list(relation.rights) === list(wanted)) return
  revokeAll(steps, relation, 'it leads to values')
  for (const right of wanted)
    steps.push({ sql: grantText(right, relation), why: 'as exempt roles had it', ...actAs(relation) })
}

export function restoreRights(steps: Step[], relation: Relation, remembered: readonly Right[]): void {
  const key = (rights: readonly Right[]) => JSON.stringify(rights.map(keyOfRight).sort())
  if (key(relation.rights) === key(remembered)) return
  revokeAll(steps, relation, 'masking ends')
  const byOwner = remembered.filter(({ grantor }) => grantor === relation.owner)
  const passedOn = remembered.filter(({ grantor }) => grantor !== relation.owner)
  for (const right of [...byOwner, ...passedOn])
    steps.push(giveBack(grantText(right, relation), right, relation))
}

function revokeAll(steps: Step[], relation: Relation, why: string): void {
  const grantees = [...new Set(relation.rights.map(({ grantee }) => quoteGrantee(grantee)))]
  const privileges = [...new Set(relation.rights.map(({ privilege }) => privilege))]
  if (grantees.length === 0) return
  const name = quoteQualified(relation.schema, relation.name)
  const sql = `REVOKE ${privileges.join(', ')} ON ${name} FROM ${grantees.join(', ')} CASCADE`
  steps.push({ sql, why, ...actAs(relation) })
}

function grantText({ privilege, column, grantee, grantable }: Right, relation: Relation): string {
  const name = relation.columns.find(({ number }) => number === column)?.name
  const place = name === undefined ? '' : ` (${quoteIdentifier(name)})`
  return `GRANT ${privilege}${place} ON ${quoteQualified(relation.schema, relation.name)} TO ${quoteGrantee(grantee)}${withOption(grantable)}`
}
