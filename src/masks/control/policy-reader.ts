import type { StateStore } from '../../contracts/enforcement.ts'
import type { Sql } from '../../db/sql.ts'
import type { Policy, Proposal } from '../policy.ts'
import { judgeExempt } from '../read/judge-exempt.ts'
import { listRecordedExempt } from '../read/recorded-exempt.ts'
import { readExempt } from '../read/snapshot.ts'
import type { LoginKeeper, SettledLogins } from './login-port.ts'
import type { Source } from './source.ts'

interface Options {
  readonly source: Source
  readonly states: Pick<StateStore, 'exemptRolesOf'>
  readonly logins: Pick<LoginKeeper, 'list'>
}

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
   * True while PostgreSQL may honour an exemption of a login role that the policy has withdrawn: a lock keeps a table
   * from being closed, or no turn has come so far.
   */
  async isStillExempt(
    sql: Sql,
    databaseId: string,
    principalId: string,
    login: { readonly role: string; readonly oid: number },
  ): Promise<boolean> {
    if ((await listRecordedExempt(sql, [login.oid])).length === 0) return false
    const { rules, exemptPrincipals } = await this.#options.source.readPolicy(databaseId)
    if (rules.length === 0 || exemptPrincipals.includes(principalId.toLowerCase())) return false
    const [[server], policy] = await Promise.all([
      sql<{ version: number }[]>`select current_setting('server_version_num')::int as version`,
      this.read(sql, databaseId),
    ])
    const { everybody, roles } = await readExempt(sql, policy, server?.version ?? 0)
    return !everybody && !roles.has(login.oid)
  }

  /** A login role counts by whom it was made for: one that others made under its name is not exempt with it. */
  async read(
    sql: Sql,
    databaseId: string,
    settledLogins?: Pick<SettledLogins, 'logins'>,
    proposed?: Proposal,
  ): Promise<Policy> {
    const { source, states } = this.#options
    const read = await source.readPolicy(databaseId, proposed)
    const { exemptPrincipals, exemptRecords, namedEntries: _, ...stored } = read
    const store = states.exemptRolesOf(databaseId)
    const policy = { ...stored, ...(await judgeExempt(sql, store, exemptRecords, read, !proposed)) }
    if (exemptPrincipals.length === 0) return policy
    const settled = settledLogins?.logins ?? (await this.#options.logins.list(sql, databaseId))
    const exempt = new Set(exemptPrincipals)
    const roles = settled.filter(({ mark }) => exempt.has(mark.principalId))
    return {
      ...policy,
      exemptRoles: [...new Set([...policy.exemptRoles, ...roles.map(({ name }) => name)])].sort(),
      judgedRoles: new Map([...policy.judgedRoles, ...roles.map(({ name, oid }) => [name, oid] as const)]),
    }
  }
}
