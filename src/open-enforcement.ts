import type { Logger } from 'pino'
import { readRevision } from './db/change-log.ts'
import type { Database } from './db/database.ts'
import type { ConnectionCheck } from './db/database-marks.ts'
import type { HostGuard } from './db/host-guard.ts'
import type { Sql } from './db/sql.ts'
import type { MembershipGraph } from './directory/membership/graph.ts'
import { findExempt } from './directory/principals/exempt-principals.ts'
import { readLoginRights } from './directory/principals/login-rights.ts'
import { loginRoleName } from './directory/principals/login-role.ts'
import { listLeftovers } from './findings/leftovers.ts'
import { checkVersion, examine } from './findings/preflight.ts'
import type { SecretBox } from './kernel/secret-box.ts'
import { Logins } from './logins/logins.ts'
import { examineMappedRole } from './logins/mapped-roles.ts'
import { createLoginKeys } from './logins/mark.ts'
import { selectBound } from './masking/binding/find-bound.ts'
import { lockDatabase } from './masking/databases/database-row.ts'
import { createEnforcementSource } from './masking/enforcement/source.ts'
import { Controller } from './masks/control/controller.ts'
import { DirectoryFollower } from './masks/control/follow-directory.ts'
import { createStateStore } from './masks/control/states/state-store.ts'
import type { Target } from './masks/policy.ts'
import { recordEntries, selectRecords } from './masks/read/judge-exempt.ts'
import type { Settings } from './settings.ts'
import { writeVerifier } from './wire/scram.ts'

interface EnforcementParts {
  readonly database: Database
  readonly graph: MembershipGraph
  readonly secrets: SecretBox
  readonly guard: HostGuard
  readonly checkConnection: ConnectionCheck
  readonly settings: Settings
  readonly log: Logger
  onDrift(): void
  afterTurn(databaseId: string, hasChanged: boolean): Promise<void>
}

/** The controller, which reads policies of masking and rights of the directory; not started yet. */
export function openEnforcement({ graph, settings, log, ...parts }: EnforcementParts) {
  const { sql } = parts.database
  const source = createEnforcementSource({
    ...parts,
    selectRecords,
    findExempt: (tenant, entries) => findExempt(sql, graph, tenant, entries),
    readRights: (tenant, mappings, ids) => readLoginRights(sql, graph, tenant, mappings, ids),
  })
  const keys = createLoginKeys(parts.secrets, loginRoleName, writeVerifier)
  const enforcement = new Controller({
    source,
    openLogins: (needs) => new Logins({ source, log, keys, ...needs }),
    states: createStateStore(sql, selectBound, lockDatabase),
    preflight: { checkVersion, examine },
    log,
    timing: settings,
    onDrift: parts.onDrift,
    afterTurn: parts.afterTurn,
  })
  return { source, enforcement }
}

/** What masking asks about the databases that it binds and the roles that it maps. */
export function createExaminers(store: Sql) {
  const { readExemptElsewhere } = createStateStore(store, selectBound, lockDatabase)
  return {
    examine,
    examineRole: async (sql: Sql, role: string, tables: readonly Target[], databaseId: string) =>
      examineMappedRole(sql, role, tables, await readExemptElsewhere(sql, databaseId)),
  }
}

/** The controller as operations of masking call it. `settle` also tells the gateway. */
export function createEnforcementPorts(enforcement: Controller, settle: Controller['settle']) {
  return {
    report: (id: string) => enforcement.report(id),
    settle,
    recordEntries,
    findLeftovers: (id: string) => listLeftovers(enforcement, id),
    /** Settles once more than the change itself did: a login role can be dropped when its sessions are gone. */
    async restore(id: string) {
      const { state, reason } = await enforcement.settle(id)
      return { state, reason, left: await listLeftovers(enforcement, id) }
    },
  }
}

interface FollowerParts
  extends Pick<EnforcementParts, 'database' | 'log'>,
    ReturnType<typeof openEnforcement> {
  readonly tenantId: string
}

/** Enforces changes of the directory, and refreshes the gateway of the databases where that changed something. */
export function openFollower(
  { database, tenantId, source, enforcement, log }: FollowerParts,
  refresh: (databaseId: string) => Promise<void>,
): DirectoryFollower {
  return new DirectoryFollower({
    readRevision: () => readRevision(database.sql, tenantId),
    findConcerned: () => source.findConcerned(),
    follow: async (id) => {
      if (await enforcement.follow(id)) await refresh(id)
    },
    log,
  })
}
