import type { Database } from '../db/database.ts'
import { exemptions, listJudged } from './grants/roles.ts'
import { settleExempt } from './grants/settle-exempt.ts'
import { isRecordedExempt } from './guard/recorded-exempt.ts'
import type { Logins, SettledLogins } from './logins/logins.ts'
import { everybody } from './names.ts'
import { readRoles } from './observe.ts'
import type { Policy, Proposal } from './policy.ts'
import type { Source } from './source.ts'
import type { StateStore } from './states/state-store.ts'

interface Options {
  readonly source: Source
  readonly states: StateStore
  readonly logins: Logins
}

/** Reads policies with their principals resolved to roles of the database. */
export class PolicyReader {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  /** Entries of the exempt list that no turn has looked at, and that name no object of the directory. They are recorded. */
  async recordNewlyExempt(database: Database, databaseId: string): Promise<string[]> {
    const known = this.#options.states.exemptRolesOf(databaseId)
    const [stored, before] = await Promise.all([this.#options.source.readPolicy(databaseId), known.read()])
    const entries = new Set(before.map(({ entry }) => entry))
    const fresh = stored.exemptRoles.filter(
      (entry) => !entries.has(entry) && entry.toLowerCase() !== everybody,
    )
    if (fresh.length > 0) await settleExempt(database.sql, known, before, stored, true)
    return fresh
  }

  /** The policy exempts a role or a principal. */
  async hasExempt(databaseId: string): Promise<boolean> {
    const { exemptRoles, exemptPrincipals } = await this.#options.source.readPolicy(databaseId)
    return exemptRoles.length > 0 || exemptPrincipals.length > 0
  }

  /**
   * True while PostgreSQL may honour an exemption of a login role that the policy has withdrawn: a lock keeps a table from
   * being closed, or no turn has come so far.
   */
  async isStillExempt(
    database: Database,
    databaseId: string,
    principalId: string,
    login: { readonly role: string; readonly oid: number },
  ): Promise<boolean> {
    const { sql } = database
    if (!(await isRecordedExempt(sql, login.oid))) return false
    const { rules, exemptPrincipals } = await this.#options.source.readPolicy(databaseId)
    if (rules.length === 0 || exemptPrincipals.includes(principalId.toLowerCase())) return false
    const [[server], policy] = await Promise.all([
      sql<{ version: number }[]>`select current_setting('server_version_num')::int as version`,
      this.read(database, databaseId),
    ])
    const roles = await readRoles(sql, server?.version ?? 0)
    return !exemptions(roles, listJudged(policy, roles)).includes(login.role)
  }

  /** A login role counts by whom it was made for: one that others made under its name is not exempt with it. */
  async read(
    database: Database,
    databaseId: string,
    settledLogins?: Pick<SettledLogins, 'logins'>,
    proposed?: Proposal,
  ): Promise<Policy> {
    const { source, states, logins } = this.#options
    const known = states.exemptRolesOf(databaseId)
    const [{ exemptPrincipals, ...stored }, before] = await Promise.all([
      source.readPolicy(databaseId, proposed),
      known.read(),
    ])
    const policy = { ...stored, ...(await settleExempt(database.sql, known, before, stored, !proposed)) }
    if (exemptPrincipals.length === 0) return policy
    const settled = settledLogins?.logins ?? (await logins.list(database.sql, databaseId))
    const exempt = new Set(exemptPrincipals)
    const roles = settled.filter(({ mark }) => exempt.has(mark.principalId))
    return {
      ...policy,
      exemptRoles: [...new Set([...policy.exemptRoles, ...roles.map(({ name }) => name)])].sort(),
      judgedRoles: new Map([...policy.judgedRoles, ...roles.map(({ name, oid }) => [name, oid] as const)]),
    }
  }
}
