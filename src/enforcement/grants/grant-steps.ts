import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import type { ColumnGrant, Grant, Relation, Remembered } from '../catalog.ts'
import { hasLoginForm } from '../names.ts'
import type { GrantChange, Step } from '../plan.ts'
import { mergeGrants } from './access.ts'

export function named(grants: readonly ColumnGrant[], names: ReadonlyMap<number, string>) {
  return grants.flatMap((grant) => {
    const column = names.get(grant.column)
    return column === undefined ? [] : [{ ...grant, column }]
  })
}

export interface Grants {
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly (Grant & { readonly column: string })[]
}

export interface GrantTarget extends Pick<GrantChange, 'on' | 'oid'> {
  readonly owner: string
  readonly columns: readonly string[]
  /** The role to act as. */
  readonly as?: string
}

/** A table-level REVOKE takes the column grants along, and CASCADE what was passed on: so all of it goes, and comes back. */
export function setGrants(steps: Step[], target: GrantTarget, seen: Grants, wanted: Grants): void {
  const { on, oid, owner, as } = target
  const own = ({ grantee }: Grant) => grantee !== owner
  const key = (grants: readonly (Grant & { column?: string })[]) =>
    JSON.stringify(
      mergeGrants(grants.filter(own))
        .map(({ grantee, grantable, column }) => [grantee, grantable, column])
        .map((each) => JSON.stringify(each))
        .sort(),
    )
  if (key(seen.grants) === key(wanted.grants) && key(seen.columnGrants) === key(wanted.columnGrants)) return
  const role = as === undefined ? {} : { as }
  const change = { on, oid, privileges: ['SELECT'] }
  const all = [...seen.grants, ...seen.columnGrants]
  const passers = listPassers(all, owner)
  const grantees = new Set([...all.filter(own).map(({ grantee }) => grantee), ...passers])
  steps.push(...followPassedOn(target, 'SELECT', passers))
  if (grantees.size > 0)
    steps.push({
      sql: `REVOKE SELECT ON ${on} FROM ${[...grantees].map(quoteGrantee).join(', ')} CASCADE`,
      why: 'to set who may read it',
      change,
      ...role,
    })
  const whole = Map.groupBy(mergeGrants(wanted.grants.filter(own)), ({ grantable }) => grantable)
  for (const [grantable, list] of whole)
    steps.push({
      sql: `GRANT SELECT ON ${on} TO ${list.map(({ grantee }) => quoteGrantee(grantee)).join(', ')}${withOption(grantable)}`,
      why: 'may read all of it',
      change: { ...change, to: list.map(({ grantee }) => grantee), grantable },
      ...role,
    })
  for (const [, list] of Map.groupBy(mergeGrants(wanted.columnGrants.filter(own)), ({ grantee, grantable }) =>
    JSON.stringify([grantee, grantable]),
  )) {
    const [first] = list
    if (!first) continue
    const columns = list.map(({ column }) => column)
    steps.push({
      sql: `GRANT SELECT (${columns.map(quoteIdentifier).join(', ')}) ON ${on} TO ${quoteGrantee(first.grantee)}${withOption(first.grantable)}`,
      why: 'may read these columns',
      change: { ...change, columns, to: [first.grantee], grantable: first.grantable },
      ...role,
    })
  }
}

/** Roles that may pass grants on, or have done so. */
export function listPassers(grants: readonly Grant[], owner: string): string[] {
  const able = grants.flatMap(({ grantor, grantee, grantable }) => [grantor, (grantable && grantee) || owner])
  return [...new Set(able)].filter((role) => role !== owner)
}

/**
 * Before a REVOKE from roles that pass grants on. CASCADE follows each access list by itself: a grant of a column that a role passed on by
 * a grant option of the whole relation would stay. With a grant option of each column the role takes it along, and another one that it
 * makes meanwhile waits for the end of the turn, and fails.
 */
export function followPassedOn(
  { on, oid, columns, as }: GrantTarget,
  privilege: string,
  passers: readonly string[],
): Step[] {
  if (passers.length === 0 || columns.length === 0) return []
  const [list, roles] = [columns, passers].map((names) => names.map(quoteIdentifier).join(', '))
  return [
    {
      sql: `GRANT ${privilege} (${list}) ON ${on} TO ${roles} WITH GRANT OPTION`,
      why: 'to revoke with it what they passed on',
      change: { on, oid, privileges: [privilege], columns, to: passers, grantable: true },
      ...(as !== undefined && { as }),
    },
  ]
}

/** Default privileges gave something to others the moment it was made. */
export function clearPrivileges(name: string, owner: string): Step {
  const body = `DECLARE grantee oid; BEGIN
    FOR grantee IN SELECT DISTINCT a.grantee FROM pg_class c, aclexplode(c.relacl) a
      WHERE c.oid = to_regclass(${quoteLiteral(name)}) AND a.grantee <> c.relowner
    LOOP EXECUTE format('REVOKE ALL ON %s FROM %s', ${quoteLiteral(name)},
      CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END); END LOOP; END`
  return { sql: `DO ${quoteLiteral(body)}`, why: 'default privileges do not count here', as: owner }
}

export function quoteGrantee(grantee: string | null): string {
  return grantee === null ? 'PUBLIC' : quoteIdentifier(grantee)
}

export function withOption(grantable: boolean): string {
  return grantable ? ' WITH GRANT OPTION' : ''
}

export function giveBack(sql: string, { grantor }: Grant, relation: Relation): Step {
  const plain: Step = { sql, why: 'as it was', ...actAs(relation) }
  return grantor === relation.owner
    ? plain
    : { sql, why: `as it was, by ${grantor}`, as: grantor, orElse: plain }
}

/** Grants are the owner's to give: as a member that inherits, or by taking on the role. */
export function actAs({ managed, owner }: Pick<Relation, 'managed' | 'owner'>): { as?: string } {
  return managed === 'as owner' ? { as: owner } : {}
}

const mayPassOn = ({ grantable }: Grant) => grantable

/** Orders grants: a grantor must hold its privilege before it passes it on. */
function inOrder<G extends Grant & { readonly column?: string }>(
  grants: readonly G[],
  owner: string,
  whole: readonly Grant[] = [],
): G[] {
  const everywhere = new Set<string | null>([owner, ...whole.filter(mayPassOn).map(({ grantee }) => grantee)])
  const able = new Set<string>()
  const place = (name: string | null, { column }: G) => JSON.stringify([name, column])
  const left = [...grants]
  const ordered: G[] = []
  for (let grew = true; grew; ) {
    grew = false
    for (const grant of [...left]) {
      if (!everywhere.has(grant.grantor) && !able.has(place(grant.grantor, grant))) continue
      ordered.push(grant)
      left.splice(left.indexOf(grant), 1)
      if (grant.grantable) able.add(place(grant.grantee, grant))
      grew = true
    }
  }
  return [...ordered, ...left]
}

/** The message is part of the reason of the state, behind the name of the relation. */
export function refuseToGiveBack({ schema, name, kind, owner }: Relation, user: string): Step {
  const [role, member] = [quoteIdentifier(owner), quoteIdentifier(user)]
  const remedy = hasLoginForm(owner)
    ? `ALTER ${kind.toUpperCase()} ${quoteQualified(schema, name)} OWNER TO ${member}`
    : `GRANT ${role} TO ${member}`
  const message = `its grants can only be given back by its owner ${role}, run: ${remedy}`
  const body = `BEGIN RAISE '%', ${quoteLiteral(message)} USING ERRCODE = '${sqlstate.insufficientPrivilege}'; END`
  return { sql: `DO ${quoteLiteral(body)}`, why: 'the record stays until its grants are given back' }
}

export function restoreGrants(steps: Step[], relation: Relation, { grants, columnGrants }: Remembered): void {
  const name = quoteQualified(relation.schema, relation.name)
  const names = new Map(relation.columns.map((column) => [column.number, column.name]))
  const seen = [...relation.grants, ...relation.columns.flatMap(({ acl }) => acl)]
  const grantees = [...new Set(seen.map(({ grantee }) => grantee))].filter(
    (grantee) => grantee !== relation.owner,
  )
  if (grantees.length > 0)
    steps.push({
      sql: `REVOKE SELECT ON ${name} FROM ${grantees.map(quoteGrantee).join(', ')} CASCADE`,
      why: 'masking ends',
      ...actAs(relation),
    })
  for (const grant of inOrder(grants, relation.owner))
    steps.push(
      giveBack(
        `GRANT SELECT ON ${name} TO ${quoteGrantee(grant.grantee)}${withOption(grant.grantable)}`,
        grant,
        relation,
      ),
    )
  for (const grant of inOrder(named(columnGrants, names), relation.owner, grants)) {
    const sql = `GRANT SELECT (${quoteIdentifier(grant.column)}) ON ${name} TO ${quoteGrantee(grant.grantee)}${withOption(grant.grantable)}`
    steps.push(giveBack(sql, grant, relation))
  }
}
