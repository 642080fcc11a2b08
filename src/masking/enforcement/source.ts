import { type Database, openDatabase } from '../../db/database.ts'
import type { ConnectionCheck } from '../../db/database-marks.ts'
import type { Place } from '../../db/database-url.ts'
import type { HostGuard } from '../../db/host-guard.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import { nameBound, pinSystem, recordReached } from '../binding/bind-once.ts'
import { addressOf, type Binding, placesOf } from '../binding/binding-address.ts'
import { secretPlace } from '../binding/bound-catalog.ts'
import type { Child } from '../children.ts'
import { splitEntries } from '../policy/exempt-entries.ts'
import { type MappingProperties, mappingRows } from '../role-mappings/mapping.ts'
import { ruleRows } from '../rules/rule.ts'
import type { RuleProperties } from '../rules/rule-fields.ts'
import { selectRecords } from '../states/exempt-records.ts'
import { type KnownRules, noRules, RuleMemory } from './known-rules.ts'
import type { EnforcedRule, ProposedPolicy } from './proposed-policy.ts'

interface SourceOptions {
  readonly database: Pick<Database, 'sql' | 'transaction'>
  readonly secrets: SecretBox
  readonly guard: HostGuard
  readonly checkConnection: ConnectionCheck
  /** Resolves the entries of an exempt list; the directory knows users and groups. */
  findExempt(
    tenantId: string,
    entries: readonly string[],
  ): Promise<{
    readonly roles: readonly string[]
    readonly principals: readonly string[]
    /** Entries that name an object of the directory. */
    readonly named: readonly string[]
  }>
  /** The database roles that the mappings grant, for those of the principals that get any. */
  readRights(
    tenantId: string,
    mappings: readonly MappingProperties[],
    principalIds: readonly string[],
  ): Promise<Rights[]>
}

interface Rights {
  readonly principalId: string
  readonly name: string
  readonly roles: readonly string[]
}

interface BoundTarget {
  readonly key: string
  readonly isReached: boolean
  connect(): Database
  readonly places: readonly Place[]
  readonly standbyPlaces: readonly Place[]
  connectTo(place: Place): Database
  readTables(): Promise<Target[]>
  recordReached(): Promise<string | null>
  pinSystem(system: string): Promise<string | null>
}

interface Target {
  readonly schema: string
  readonly table: string
}

interface ExemptRecord {
  readonly entry: string
  readonly place: string
  readonly oid: number | null
}

interface StoredPolicy {
  readonly tenantId: string
  readonly state: string
  readonly mode: string
  readonly exempt: string
  readonly records: readonly ExemptRecord[]
  readonly changedRules: readonly Child<RuleProperties>[]
  readonly ruleCount: number
  readonly suspended: readonly { readonly schema: string; readonly table: string }[]
}

/** The management data that enforcement reads. */
export function createEnforcementSource(options: SourceOptions) {
  const { database, secrets, guard, checkConnection, findExempt, readRights } = options
  const { sql } = database
  const foreignOptions = {
    applicationName: 'masquerade enforcement',
    searchPath: 'pg_catalog',
    check: checkConnection,
  }
  /** The tables that rules name. */
  const readTables = async (databaseId: string): Promise<Target[]> => [
    ...(await sql<Target[]>`
      select distinct schema_name as schema, table_name as "table" from masking_rule
      where database_id = ${databaseId}`),
  ]
  const memory = new RuleMemory()
  const readStored = async (databaseId: string, known: KnownRules) => {
    const [row] = await sql<StoredPolicy[]>`
      select tenant_id as "tenantId", policy_state as state, policy_mode as mode, exempt_principals as exempt,
        ${selectRecords(sql, sql`d.id`)} as records,
        ${ruleRows.listAsJson(sql, sql`d.id`, known.version)} as "changedRules", ${ruleRows.countAs(sql, sql`d.id`)} as "ruleCount",
        (select coalesce(jsonb_agg(jsonb_build_object('schema', schema_name, 'table', table_name)
          order by schema_name, table_name), '[]') from suspension where database_id = d.id) as suspended
      from masked_database d where id = ${databaseId}`
    return row
  }
  /** The policy with its rules, of one moment. */
  const readRules = async (
    databaseId: string,
  ): Promise<{ row?: StoredPolicy; rules: readonly EnforcedRule[] }> => {
    for (const known of [memory.recall(databaseId), noRules]) {
      const row = await readStored(databaseId, known)
      if (!row) break
      const rules = memory.add(databaseId, known, row.changedRules, row.ruleCount)
      if (rules) return { row, rules }
    }
    return { rules: [] }
  }
  return {
    async find(databaseId: string): Promise<BoundTarget | null> {
      const [row] = await sql<
        {
          binding: Binding
          secret: Uint8Array | null
          version: number
          isReached: boolean
          system: string | null
        }[]
      >`
        select binding, binding_secret as secret, binding_version as version,
          binding_reached_at is not null as "isReached", binding_system as system
        from masked_database
        where id = ${databaseId} and binding is not null`
      if (!row) return null
      const address = () =>
        addressOf(
          row.binding,
          row.secret ? secrets.open(secretPlace(databaseId), row.secret) : '',
          guard,
          row.system,
        )
      return {
        key: String(row.version),
        isReached: row.isReached,
        connect: () =>
          openDatabase({
            ...foreignOptions,
            url: address(),
            // Two for looks, two for changes of login roles (`FewAtOnce`), one for the turn, one that sees
            // what the turn waits for, and one that is kept.
            poolSize: 7,
            // A server that does not even answer that time is up.
            answerTimeoutMs: 35_000,
            foreign: { keep: 3 },
          }),
        places: placesOf(row.binding),
        standbyPlaces: row.binding.readOnlySessions === 'Standby' ? placesOf(row.binding) : [],
        connectTo(place: Place) {
          const { others: _, system: __, ...own } = address()
          return openDatabase({
            ...foreignOptions,
            url: { ...own, ...place },
            poolSize: 1,
            answerTimeoutMs: 5_000,
            foreign: { keep: 0 },
          })
        },
        readTables: () => readTables(databaseId),
        pinSystem: (system: string) => pinSystem(sql, databaseId, row.version, system),
        recordReached: () => database.transaction((tx) => recordReached(tx, { id: databaseId, ...row })),
      }
    },

    /** Bound databases whose exemptions or role mappings may refer to users or groups of the directory. */
    async findConcerned(): Promise<string[]> {
      const rows = await sql<{ id: string }[]>`
        select id from masked_database d where binding is not null
          and (exempt_principals <> '' or exists (select from role_mapping m where m.database_id = d.id))
        order by id`
      return rows.map(({ id }) => id)
    },

    /**
     * A policy that is off, or observed only, has no rules to enforce. Rules and exemptions are read by one statement: a rule must never be
     * enforced without the exemptions that were stored together with it, nor an entry be judged without what was recorded with it.
     */
    async readPolicy(databaseId: string, proposed?: ProposedPolicy) {
      const { row, rules } = await readRules(databaseId)
      const stored = row?.state === 'Enabled' && row.mode === 'Enforce' ? rules : []
      const entries = proposed?.exempt ?? splitEntries(row?.exempt ?? '')
      const exempt = row ? await findExempt(row.tenantId, entries) : { roles: [], principals: [], named: [] }
      return {
        rules: proposed?.rules ?? stored,
        exemptRoles: exempt.roles,
        exemptPrincipals: exempt.principals,
        namedEntries: exempt.named,
        exemptRecords: row?.records ?? [],
        suspended: row?.suspended ?? [],
      }
    },

    /** The columns that a policy in observe mode would mask; null where the policy is enforced or off. */
    async readObserved(databaseId: string) {
      const rows = await sql<{ schema: string; table: string; column: string }[]>`
        select r.schema_name as schema, r.table_name as "table", r.column_name as "column"
        from masked_database d join masking_rule r on r.database_id = d.id
        where d.id = ${databaseId} and d.policy_state = 'Enabled' and d.policy_mode = 'Observe' order by 1, 2, 3`
      return rows.length === 0 ? null : [...rows]
    },

    /** Distinguishes the masks of one bound database from those of another. */
    claimantOf(databaseId: string) {
      return {
        databaseId,
        async nameOwner(owner: string) {
          const [row] = await sql<{ tenantId: string }[]>`
            select tenant_id as "tenantId" from masked_database where id = ${databaseId}`
          return nameBound(sql, row?.tenantId ?? '', owner)
        },
      }
    },

    async readLogins(databaseId: string, principalIds: readonly string[]) {
      const [[row], mappings, tables] = await Promise.all([
        sql<{ tenantId: string }[]>`
          select tenant_id as "tenantId" from masked_database where id = ${databaseId} and binding is not null`,
        mappingRows.list(sql, databaseId),
        readTables(databaseId),
      ])
      return {
        rights: row ? await readRights(row.tenantId, mappings, principalIds) : [],
        tables,
      }
    },
  }
}
