import { operationsOf, type WritesNeedRight } from '../api/operation.ts'
import type { Query } from '../db/query.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { MembershipGraph } from './membership/graph.ts'
import type { NotificationPorts } from './notifications/validate-address.ts'
import type { ReadGivenRights } from './rights/carried-rights.ts'
import type { RightsOfEveryone } from './rights/person-rights.ts'

/** Functions that the directory needs from other rooms; `main.ts` passes them. */
export interface DirectoryPorts {
  readonly graph: MembershipGraph
  /** Throws unless `current` is the caller's password; wrong ones are counted. */
  changePassword(
    caller: { readonly objectId: string; readonly applicationId: string },
    current: string,
    next: string,
  ): Promise<void>
  readonly everyoneMay: RightsOfEveryone
  /** True when tokens of other issuers are accepted, whose clients may be unknown here. */
  readonly hasOutsideIssuers: boolean
  readonly notifications: NotificationPorts
  /** Seals tokens that clients hand back. */
  readonly secrets: SecretBox
  /** How long the change log is kept. */
  readonly changeLogDays: number
  readonly readGivenRights: ReadGivenRights
  /** The principals that are Owner of masking at `/`. */
  readRootOwners(sql: Query, tenantId: string): Promise<readonly string[]>
}

export const operation = operationsOf<DirectoryPorts, WritesNeedRight>('directory')
