import type { Query } from '../../db/query.ts'
import type { MembershipGraph } from '../membership/graph.ts'
import { hasEnabledPrincipal } from '../rights/remaining-administrators.ts'
import { describeExempt, findGroupsNamed } from './describe-exempt.ts'
import { isExemptPrincipal } from './exempt-principals.ts'
import { findPrincipals, holdPrincipal, mayReadPrincipals } from './find-principals.ts'

/** The questions about principals that masking asks the directory. */
export function createPrincipalPorts(sql: Query, graph: MembershipGraph) {
  return {
    find: (tenantId: string, ids: readonly string[]) => findPrincipals(sql, tenantId, ids),
    hold: holdPrincipal,
    describe: (tenantId: string, entries: readonly string[]) => describeExempt(sql, tenantId, entries),
    findNamed: async (tx: Query, tenantId: string, entries: readonly string[]) =>
      (await describeExempt(tx, tenantId, entries)).map(({ entry }) => entry),
    findGroupsNamed: (tenantId: string, names: readonly string[]) => findGroupsNamed(sql, tenantId, names),
    mayRead: mayReadPrincipals,
    groupsOf: async (tenantId: string, id: string) => [...(await graph.groupsOf(tenantId, id))],
    isExempt: (tenantId: string, id: string, entries: readonly string[]) =>
      isExemptPrincipal(sql, graph, tenantId, id, entries),
    hasEnabled: (tx: Query, tenantId: string, ids: readonly string[]) =>
      hasEnabledPrincipal(tx, tenantId, ids, ['user', 'servicePrincipal']),
  }
}
