import type { StateStore } from '../../contracts/enforcement.ts'
import type { Sql } from '../../db/sql.ts'
import type { KnownLogin, PolicyReader, SettledLogins } from '../../masks/control/login-port.ts'
import type { Policy, Proposal } from '../../masks/policy.ts'
import { readExempt } from '../../masks/read/snapshot.ts'
import { judgeEntries, type NamedEntries, type StoredRole } from './judge-entries.ts'
import { listRecordedExempt } from './recorded-exempt.ts'

export interface StoredPolicy extends Policy, NamedEntries {
  readonly exemptPrincipals: readonly string[]
  /** About entries of the exempt list, as they were when the list was read. */
  readonly exemptRecords: readonly StoredRole[]
}

interface Options extends Pick<StateStore, 'exemptRolesOf'> {
  /** The rules and the policy as they are now, or as they would be. */
  readPolicy(databaseId: string, proposed?: Proposal): Promise<StoredPolicy>
  listLogins(sql: Sql, databaseId: string): Promise<readonly KnownLogin[]>
}

export class Policies implements PolicyReader {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  async hasExempt(databaseId: string): Promise<boolean> {
    const { exemptRoles, exemptPrincipals } = await this.#options.readPolicy(databaseId)
    return exemptRoles.length > 0 || exemptPrincipals.length > 0
  }

  async isStillExempt(
    sql: Sql,
    databaseId: string,
    principalId: string,
    login: { readonly role: string; readonly oid: number },
  ): Promise<boolean> {
    if ((await listRecordedExempt(sql, [login.oid])).length === 0) return false
    const { rules, exemptPrincipals } = await this.#options.readPolicy(databaseId)
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
    const { readPolicy, exemptRolesOf, listLogins } = this.#options
    const read = await readPolicy(databaseId, proposed)
    const { exemptPrincipals, exemptRecords, namedEntries: _, ...stored } = read
    const store = exemptRolesOf(databaseId)
    const policy = { ...stored, ...(await judgeEntries(sql, store, exemptRecords, read, !proposed)) }
    if (exemptPrincipals.length === 0) return policy
    const settled = settledLogins?.logins ?? (await listLogins(sql, databaseId))
    const exempt = new Set(exemptPrincipals)
    const roles = settled.filter(({ mark }) => exempt.has(mark.principalId))
    return {
      ...policy,
      exemptRoles: [...new Set([...policy.exemptRoles, ...roles.map(({ name }) => name)])].sort(),
      judgedRoles: new Map([...policy.judgedRoles, ...roles.map(({ name, oid }) => [name, oid] as const)]),
    }
  }
}
