import { type Answer, type Context, operationsOf } from '../api/operation.ts'
import type { Caller } from '../auth/caller.ts'
import type { Assignment } from '../auth/role-assignments.ts'
import type { HostGuard } from '../db/host-guard.ts'
import type { Query } from '../db/query.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { BoundCatalogs } from './binding/bound-catalog.ts'
import { type Enforcement, reportOf } from './enforcement/enforcement.ts'
import type { Inspection } from './enforcement/inspection.ts'
import type { Provider } from './management/describe-providers.ts'
import type { ServiceDescription } from './management/service-description.ts'
import { namespaceOf } from './namespace.ts'
import { requireRole } from './role-assignments/confirm-role.ts'

/** Functions of other rooms that masking calls; `main.ts` passes them in. */
export interface MaskingPorts {
  /** Other names of `Vendor.Sql` that paths may have. */
  readonly providerAliases: readonly string[]
  /** Servers and databases must be declared before they can have rules. */
  readonly strict: boolean
  /** Decides which hosts a binding may name, by the addresses they have. */
  readonly guard: HostGuard
  readonly secrets: SecretBox
  readonly catalogs: BoundCatalogs
  readonly enforcement: Enforcement
  readonly inspection: Inspection
  readonly principals: Principals
  /**
   * True when the caller's roles allow the action at the scope, as they are now. It asks within `tx`: a transaction that
   * holds a lock must not wait for another connection.
   */
  mayAct(tx: Query, caller: Caller, action: string, scope: string): Promise<boolean>
  /** Runs a statement at the gateway, which logs the caller in by the token. */
  runQuery(caller: Caller, query: CallerQuery): Promise<QueryResult | 'loginRefused'>
  /** The port of this node's gateway. */
  gatewayPort(): number
  /** The roles that the caller holds now, with their scopes; none for a caller who may not use masking. */
  rolesOf(tx: Query, caller: Caller): Promise<readonly Assignment[]>
  /**
   * Throws unless it is the password of the signed-in person, or a secret of the application; wrong ones are counted, also
   * when the request fails. The returned function keeps it what it is to the end of a transaction, throws where it is
   * another by then, and returns when it ends, if that is known.
   */
  confirmPassword(caller: Caller, current: string): Promise<(tx: Query) => Promise<Date | undefined>>
  /** The SCRAM verifier of a password. */
  writeVerifier(password: string): string
  /** The name under which a principal logs in to databases. */
  findLoginName(
    tenantId: string,
    objectId: string,
    kind: 'user' | 'servicePrincipal',
  ): Promise<string | undefined>
  describeService(tx: Query): Promise<ServiceDescription>
  /** The nodes that run, with the sessions of their gateways. */
  listNodes(tx: Query): Promise<readonly { readonly gatewaySessions: number }[]>
  /** The providers that the operations of this room amount to. */
  readonly providers: readonly Provider[]
}

export interface CallerQuery {
  readonly database: string
  readonly token: string
  readonly sql: string
  readonly isReadOnly: boolean
  readonly rowLimit: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface QueryResult {
  /** `relation` and `position`: where a column stands in a relation, 0 for an expression. */
  readonly columns: readonly { readonly name: string; readonly relation: number; readonly position: number }[]
  readonly rows: readonly (readonly (string | null)[])[]
  readonly isCut: boolean
  readonly command: string
  readonly affected: number | null
  readonly error: { readonly code: string; readonly message: string; readonly position: number | null } | null
}

export type PrincipalType = 'User' | 'Group' | 'ServicePrincipal'

/** An entry of an exempt list and the object of the directory that it names. */
export interface NamedPrincipal {
  readonly entry: string
  readonly id: string
  readonly type: PrincipalType
  readonly name: string
}

/** The directory, as far as role assignments need it. */
export interface Principals {
  /** By id, those of the ids that are users, groups or service principals and are there. */
  find(tx: Query, tenantId: string, ids: readonly string[]): Promise<ReadonlyMap<string, PrincipalType>>
  /** True when the principal is there; it then stays until the transaction ends. */
  hold(tx: Query, tenantId: string, id: string): Promise<boolean>
  /** The users, groups and applications that entries of an exempt list name by id, userPrincipalName or appId. */
  describe(tx: Query, tenantId: string, entries: readonly string[]): Promise<readonly NamedPrincipal[]>
  /** Those of the entries that name such an object. */
  findNamed(tx: Query, tenantId: string, entries: readonly string[]): Promise<readonly string[]>
  findGroupsNamed(
    tx: Query,
    tenantId: string,
    names: readonly string[],
  ): Promise<readonly { readonly id: string; readonly name: string }[]>
  /** True when the caller's permissions allow reading objects of the type in the directory. */
  mayRead(caller: Caller, type: PrincipalType): boolean
  /** Every group that the principal is in, at any depth. For reads alone: it takes a connection of its own. */
  groupsOf(tenantId: string, id: string): Promise<readonly string[]>
  /** Whether an exempt list names the principal, or a group that it is in at any depth. For reads alone too. */
  isExempt(tx: Query, tenantId: string, id: string, entries: readonly string[]): Promise<boolean>
  /** True when one of the ids is an enabled user or service principal, or a group that has one at any depth. */
  hasEnabled(tx: Query, tenantId: string, ids: readonly string[]): Promise<boolean>
}

/** The version of the specification: its shapes are exact. */
export const specifiedVersion = '2014-04-01'

/** Later versions of the original, as its client libraries send them; in these a rule shows its name. */
const laterVersions = [
  '2021-02-01-preview',
  '2021-05-01-preview',
  '2021-08-01-preview',
  '2021-11-01-preview',
  '2021-11-01',
  '2022-02-01-preview',
  '2022-05-01-preview',
  '2022-08-01-preview',
  '2022-11-01-preview',
  '2023-02-01-preview',
  '2023-05-01-preview',
  '2023-08-01-preview',
  '2023-08-01',
  '2024-05-01-preview',
  '2024-11-01-preview',
  '2025-01-01',
  '2025-02-01-preview',
]

/** The versions of the specification and of our own operations beside it. */
export const apiVersions = [specifiedVersion]

/** The versions of what the original has too: rules, policy, servers and databases. */
export const originalApiVersions = [specifiedVersion, ...laterVersions]

/** The version of what came after the specification and is not in the original. */
export const ownApiVersion = '2026-11-01'

/** The versions of resources of our own that came after the specification. */
export const ownApiVersions = [ownApiVersion, specifiedVersion]

/** The versions of databases and policies, of which parts are our own. */
export const databaseApiVersions = [...originalApiVersions, ownApiVersion]

/** The versions of role assignments and definitions, as client libraries send them. */
export const authorizationApiVersions = [
  specifiedVersion,
  '2015-07-01',
  '2018-01-01-preview',
  '2018-07-01',
  '2018-09-01-preview',
  '2020-03-01-preview',
  '2020-04-01-preview',
  '2020-08-01-preview',
  '2020-10-01-preview',
  '2022-04-01',
  '2022-05-01-preview',
]

/** The versions of subscriptions, resource groups, tenants and providers, as client libraries send them. */
export const resourcesApiVersions = [
  specifiedVersion,
  '2015-11-01',
  '2016-06-01',
  '2018-05-01',
  '2018-06-01',
  '2019-05-01',
  '2019-06-01',
  '2019-10-01',
  '2019-11-01',
  '2020-01-01',
  '2020-06-01',
  '2020-10-01',
  '2021-01-01',
  '2021-04-01',
  '2022-09-01',
  '2022-12-01',
  '2024-03-01',
  '2024-07-01',
  '2024-11-01',
  '2025-03-01',
  '2025-04-01',
]

const define = operationsOf<MaskingPorts>('masking')

/**
 * Makes an operation. MASK-245: a write asks for the role of its caller once more before the commit, behind every lock: a caller
 * can wait for one until an Owner has revoked the role and withdrawn what its holder did. The question sees what other
 * transactions committed, not what the write itself ends.
 */
export const operation: typeof define = (definition) => {
  const made = define(definition)
  const { permission, method, reads } = made
  if (!('action' in permission) || method === 'GET' || reads) return made
  const { action, scope } = permission
  return {
    ...made,
    run(context, prepared) {
      const ask = (aside: Query) => requireRole({ ...context, tx: aside }, action, scope(context.params))
      context.askAgain(action, ask)
      return made.run(context, prepared)
    },
  }
}

type AnyContext = Pick<Context<MaskingPorts, unknown, unknown>, 'request' | 'ports'>

export function namespaceOfRequest({ request, ports }: AnyContext): string {
  return namespaceOf(request.path, ports.providerAliases)
}

/** The answer, with the state that enforcement has once the change is committed. */
export function withEnforcement(
  answer: Answer,
  database: { readonly id: string; readonly bound: boolean } | null,
  { enforcement }: MaskingPorts,
  changed: boolean,
): Answer {
  return {
    ...answer,
    afterCommit: async () => {
      const { state } =
        changed && database?.bound
          ? await enforcement.settle(database.id)
          : await reportOf(database, enforcement)
      return { 'x-masquerade-enforcement': state }
    },
  }
}

/** The answer to the end of a binding: when it comes, this node has closed its connections to the database. */
export function withoutBinding(
  answer: Answer,
  databaseId: string,
  { enforcement }: Pick<MaskingPorts, 'enforcement'>,
): Answer {
  return {
    ...answer,
    afterCommit: async () => {
      await enforcement.settle(databaseId)
      return { 'x-masquerade-enforcement': 'NotBound' }
    },
  }
}
