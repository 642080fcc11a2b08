import type { Logger } from 'pino'
import { readRevision, selectRevision } from './db/change-log.ts'
import type { Database } from './db/database.ts'
import type { ConnectionCheck } from './db/database-marks.ts'
import type { HostGuard } from './db/host-guard.ts'
import type { Pulse } from './db/pulse.ts'
import type { Sql } from './db/sql.ts'
import type { MembershipGraph } from './directory/membership/graph.ts'
import { findExempt } from './directory/principals/exempt-principals.ts'
import { readLoginRights } from './directory/principals/login-rights.ts'
import { loginRoleName } from './directory/principals/login-role.ts'
import { listLeftovers } from './findings/leftovers.ts'
import { checkVersion, examine } from './findings/preflight.ts'
import { explainTurn, judgeTurn } from './findings/turns/judge-turn.ts'
import { CoalescedJobs } from './kernel/jobs.ts'
import type { SecretBox } from './kernel/secret-box.ts'
import { Policies } from './logins/exempt/policies.ts'
import { Logins } from './logins/logins.ts'
import { examineMappedRole } from './logins/mapped-roles.ts'
import { createLoginKeys } from './logins/mark.ts'
import { createEnforcementSource } from './masking/enforcement/source.ts'
import { createStateStore, selectIsDue } from './masking/states/state-store.ts'
import { Controller } from './masks/control/controller.ts'
import type { Target } from './masks/policy.ts'
import { readPlace } from './masks/read/guard.ts'
import type { Settings } from './settings.ts'
import { writeVerifier } from './wire/scram.ts'

interface EnforcementParts {
  readonly database: Database
  readonly pulse: Pulse
  readonly graph: MembershipGraph
  readonly secrets: SecretBox
  readonly guard: HostGuard
  readonly checkConnection: ConnectionCheck
  readonly settings: Settings
  readonly log: Logger
  onDrift(): void
  afterTurn(databaseId: string, hasChanged: boolean): void
}

/** The controller, which reads policies of masking and rights of the directory; not started yet. */
export function openEnforcement({ graph, settings, log, ...parts }: EnforcementParts) {
  const { sql } = parts.database
  const source = createEnforcementSource({
    ...parts,
    findExempt: (tenant, entries) => findExempt(sql, graph, tenant, entries),
    readRights: (tenant, mappings, ids) => readLoginRights(sql, graph, tenant, mappings, ids),
  })
  const keys = createLoginKeys(parts.secrets, loginRoleName, writeVerifier)
  const states = createStateStore(sql)
  const enforcement = new Controller({
    source,
    openLogins(bindingOf) {
      const logins = new Logins({ source, log, keys, bindingOf, ...states })
      const listLogins = logins.list.bind(logins)
      return { logins, policies: new Policies({ readPolicy: source.readPolicy, listLogins, ...states }) }
    },
    states,
    findings: { checkVersion, examine, explainTurn, judgeTurn },
    log,
    timing: settings,
    askDue: (hear) => parts.pulse.ask(selectIsDue(sql), hear),
    onDrift: parts.onDrift,
    afterTurn: parts.afterTurn,
  })
  return { source, enforcement }
}

/** What masking asks about the databases that it binds and the roles that it maps. */
export function createExaminers(store: Sql) {
  const { readExemptElsewhere } = createStateStore(store)
  return {
    examine,
    examineRole: async (sql: Sql, role: string, tables: readonly Target[], databaseId: string) =>
      examineMappedRole(sql, role, tables, await readExemptElsewhere(await readPlace(sql), databaseId)),
  }
}

/** The controller as operations of masking call it. `settle` also tells the gateway. */
export function createEnforcementPorts(enforcement: Controller, settle: Controller['settle']) {
  return {
    report: (id: string) => enforcement.report(id),
    settle,
    findLeftovers: (id: string) => listLeftovers(enforcement, id),
    /** Settles once more than the change itself did: a login role can be dropped when its sessions are gone. */
    async restore(id: string) {
      const { state, reason } = await enforcement.settle(id)
      return { state, reason, left: await listLeftovers(enforcement, id) }
    },
  }
}

interface FollowerParts
  extends Pick<EnforcementParts, 'database' | 'pulse' | 'log'>,
    ReturnType<typeof openEnforcement> {
  readonly tenantId: string
}

/** Changes of a directory come in bursts, as when a whole department is imported. */
const gatherMs = 50
const everything = ''

/**
 * Enforces anew after a change of the directory, and refreshes the gateway where that changed something: a user removed
 * from a group loses the rights that came with it. It acts on notifications, and looks now and then in case they do not
 * arrive.
 */
export function openFollower(
  { database, tenantId, pulse, source, enforcement, log }: FollowerParts,
  refresh: (databaseId: string) => Promise<void>,
) {
  const jobs = new CoalescedJobs(gatherMs, (databaseId, err) =>
    log.warn({ databaseId, err }, 'a change of the directory could not be followed'),
  )
  let seen = -1
  const follow = async (id: string) => {
    if (await enforcement.follow(id)) await refresh(id)
  }
  /** A failure in a database is written to its state and retried there. */
  const look = async () => {
    const revision = await readRevision(database.sql, tenantId)
    for (const id of await source.findConcerned()) jobs.request(id, () => follow(id))
    seen = revision
  }
  const hear = () => jobs.request(everything, look)
  const stopAsking = pulse.ask(selectRevision(database.sql, tenantId), (revision: number) => {
    if (revision !== seen) hear()
  })
  return {
    /** Something may have changed. */
    hear,
    async close(): Promise<void> {
      stopAsking()
      await jobs.close()
    },
  }
}
