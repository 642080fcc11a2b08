import type { Query } from '../../db/query.ts'
import type { MembershipGraph } from '../membership/graph.ts'
import { hasEnabledPrincipal } from '../rights/remaining-administrators.ts'
import { describeExempt, findGroupsNamed } from './describe-exempt.ts'
import { isExemptPrincipal } from './exempt-principals.ts'
import { findPrincipals, holdPrincipal, mayReadPrincipals } from './find-principals.ts'

/**
 * The questions about principals that masking asks the directory. Writes ask within their `tx`: transactions that each waited for a
 * second connection would wait for each other (MASK-254). The graph takes a connection of the pool, so reads alone ask it.
 */
export function createPrincipalPorts(graph: MembershipGraph) {
  return {
    find: findPrincipals,
    hold: holdPrincipal,
    describe: describeExempt,
    findNamed: async (tx: Query, tenantId: string, entries: readonly string[]) =>
      (await describeExempt(tx, tenantId, entries)).map(({ entry }) => entry),
    findGroupsNamed,
    mayRead: mayReadPrincipals,
    groupsOf: async (tenantId: string, id: string) => [...(await graph.groupsOf(tenantId, id))],
    isExempt: (tx: Query, tenantId: string, id: string, entries: readonly string[]) =>
      isExemptPrincipal(tx, graph, tenantId, id, entries),
    hasEnabled: (tx: Query, tenantId: string, ids: readonly string[]) =>
      hasEnabledPrincipal(tx, tenantId, ids, ['user', 'servicePrincipal']),
  }
}
