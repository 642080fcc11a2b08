import type { MaskFacts, Reason, Verdict } from '../contracts/verdict.ts'
import { quoteIdentifier } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import { readOwners } from './queries/relations.ts'
import { findAttributes, findTargets, reasonQueries, reasonRows } from './reasons.ts'
import { findMembers, readRoleGraph, revokeMemberships } from './role-graph.ts'
import { type Found, isRelation, type Scene, setScene } from './scene.ts'

/** A statement names so many objects at most; the next look finds the others. */
const mostObjects = 100
const mostNamed = 3

/**
 * The verdict for every role of the server that the policy does not exempt, login roles first, in a transaction whose
 * search path is `pg_catalog`. A superuser has no other reason: these are about privileges.
 */
export async function judgeRoles(sql: Sql, facts: MaskFacts): Promise<Verdict[]> {
  const [graph, owned] = await Promise.all([readRoleGraph(sql), readOwners(sql, facts)])
  const scene = setScene(sql, graph, facts, owned)
  const reasons = new Map<number, Reason[]>(scene.judged.map((oid) => [oid, []]))
  // Ways to several roles of one kind are one reason.
  const groups = Map.groupBy(await findAll(scene, owned), ({ code, holder, by = null }) =>
    JSON.stringify([code, code.startsWith('Becomes') ? 0 : holder, by]),
  )
  for (const group of groups.values())
    for (const [oid, reason] of explain(scene, group as [Found, ...Found[]])) {
      const isOther = graph.roles.get(oid)?.superuser && group[0]?.code !== 'Superuser'
      if (!isOther) reasons.get(oid)?.push(reason)
    }
  return [...reasons]
    .map(([oid, list]): Verdict => {
      const { name, canLogIn } = graph.roles.get(oid) ?? { name: '', canLogIn: false }
      return { role: name, canLogIn, contained: list.length === 0, reasons: list }
    })
    .sort((one, other) => Number(other.canLogIn) - Number(one.canLogIn) || (one.role < other.role ? -1 : 1))
}

/** Where nothing is masked there is nothing to contain. */
async function findAll(scene: Scene, owned: readonly Found[]): Promise<Found[]> {
  if (owned.length === 0) return []
  const owners = [...new Set(owned.filter(isRelation).map(({ holder }) => holder))]
  const found = [findAttributes(scene), findTargets(scene, owners), owned]
  for (const query of reasonQueries) found.push(await query(scene))
  return found.flat()
}

const list = (found: readonly Pick<Found, 'object'>[]) => found.map(({ object }) => object).join(', ')

/** What holders have by one code, as a reason of each role that has it: a holder, every role for PUBLIC, members. */
function* explain(scene: Scene, group: readonly [Found, ...Found[]]): Generator<[role: number, Reason]> {
  const { graph, judged, trusted, stops } = scene
  const [{ code, holder, by = null }] = group
  const { kind, reach, text, statement } = reasonRows[code as keyof typeof reasonRows]
  const nameOf = (oid: number) => graph.roles.get(oid)?.name ?? ''
  const more = group.length > mostNamed ? ` and ${group.length - mostNamed} more` : ''
  const objects = group.slice(0, mostObjects)
  const words = {
    list: list(objects),
    objects,
    by,
    role: holder === 0 ? 'PUBLIC' : quoteIdentifier(nameOf(holder)),
    self: quoteIdentifier(nameOf(scene.self)),
  }
  if (reach === 'members') {
    const targets = new Set(group.map((one) => one.holder))
    for (const [oid, ways] of findMembers(graph, [...targets], stops)) {
      const direct = ways.filter(({ role }) => targets.has(role)).map(({ role }) => nameOf(role))
      const role = direct[0] ?? (targets.size === 1 ? nameOf(holder) : 'a role')
      const via = direct.length > 0 ? null : nameOf(ways[0]?.role ?? 0)
      yield [oid, { kind, text: text({ ...words, role }), statement: revokeMemberships(graph, ways), via }]
    }
    return
  }
  const described = text({ ...words, list: list(group.slice(0, mostNamed)) + more })
  const reason = { kind, text: described, statement: statement(words) }
  if (holder === 0) for (const oid of judged) yield [oid, { ...reason, via: 'PUBLIC' }]
  else yield [holder, { ...reason, via: null }]
  // Members of an exempt role or of the binding's have that as their reason, whatever else the role holds.
  if (holder === 0 || reach === 'holder' || trusted.has(holder)) return
  for (const [oid, ways] of findMembers(graph, [holder], stops)) {
    const revoked = scene.mapped.has(oid) ? reason.statement : revokeMemberships(graph, ways)
    yield [oid, { ...reason, statement: revoked, via: nameOf(holder) }]
  }
}
