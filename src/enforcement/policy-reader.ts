import type { Sql } from '../db/sql.ts'
import { exemptions, listJudged } from './grants/roles.ts'
import { settleExempt } from './grants/settle-exempt.ts'
import { isRecordedExempt } from './guard/recorded-exempt.ts'
import type { Logins, SettledLogins } from './logins/logins.ts'
import { readRoles } from './observe.ts'
import type { Policy, Proposal } from './policy.ts'
import type { Source, StoredPolicy } from './source.ts'
import type { StateStore } from './states/state-store.ts'

interface Options {
  readonly source: Source
  readonly states: StateStore
  readonly logins: Logins
}

/** Each further one follows a write of the list, or of another turn. */
const mostAttempts = 10

/** Reads policies with their principals resolved to roles of the database. */
export class PolicyReader {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
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
    sql: Sql,
    databaseId: string,
    principalId: string,
    login: { readonly role: string; readonly oid: number },
  ): Promise<boolean> {
    if (!(await isRecordedExempt(sql, login.oid))) return false
    const { rules, exemptPrincipals } = await this.#options.source.readPolicy(databaseId)
    if (rules.length === 0 || exemptPrincipals.includes(principalId.toLowerCase())) return false
    const [[server], policy] = await Promise.all([
      sql<{ version: number }[]>`select current_setting('server_version_num')::int as version`,
      this.read(sql, databaseId),
    ])
    const roles = await readRoles(sql, server?.version ?? 0)
    return !exemptions(roles, listJudged(policy, roles)).includes(login.role)
  }

  /** A login role counts by whom it was made for: one that others made under its name is not exempt with it. */
  async read(
    sql: Sql,
    databaseId: string,
    settledLogins?: Pick<SettledLogins, 'logins'>,
    proposed?: Proposal,
  ): Promise<Policy> {
    const { logins } = this.#options
    const {
      exemptPrincipals,
      exemptRecords: _,
      ...policy
    } = await this.#judge(databaseId, proposed, async (stored) => {
      const settled = await this.#settle(sql, databaseId, stored, !proposed)
      return settled && { ...stored, ...settled }
    })
    if (exemptPrincipals.length === 0) return policy
    const settled = settledLogins?.logins ?? (await logins.list(sql, databaseId))
    const exempt = new Set(exemptPrincipals)
    const roles = settled.filter(({ mark }) => exempt.has(mark.principalId))
    return {
      ...policy,
      exemptRoles: [...new Set([...policy.exemptRoles, ...roles.map(({ name }) => name)])].sort(),
      judgedRoles: new Map([...policy.judgedRoles, ...roles.map(({ name, oid }) => [name, oid] as const)]),
    }
  }

  /** `judge` returns null where the records have changed since they were read: it judges by those of now then. */
  async #judge<T>(
    databaseId: string,
    proposed: Proposal | undefined,
    judge: (stored: StoredPolicy) => Promise<T | null>,
  ): Promise<T> {
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      const judged = await judge(await this.#options.source.readPolicy(databaseId, proposed))
      if (judged !== null) return judged
    }
    throw new Error('the exempt list was changed again and again while it was read')
  }

  #settle(sql: Sql, databaseId: string, stored: StoredPolicy, isStored: boolean) {
    const store = this.#options.states.exemptRolesOf(databaseId)
    return settleExempt(sql, store, stored.exemptRecords, stored, isStored)
  }
}
