import { formatDateTime } from '../entities/read-value.ts'
import { resources } from '../objects/kinds/resources.ts'
import type { ChangeType, Subscription } from './subscription.ts'

export interface LoggedChange {
  readonly revision: number
  readonly at: Date
  readonly id: string
  readonly kind: string
  /** The second object of an edge. */
  readonly other: string | null
}

/** A subscription with the secret by which its client recognises us. */
export interface Stamp {
  readonly subscription: Subscription
  readonly tenantId: string
  readonly clientState: string | null
}

/** How subscribers hear of each kind of change in the log. */
const typeOfKind: Readonly<Record<string, ChangeType>> = {
  created: 'created',
  updated: 'updated',
  restored: 'updated',
  memberAdded: 'updated',
  memberRemoved: 'updated',
  deleted: 'deleted',
  purged: 'deleted',
}

/** The kinds of entries that a subscription is told of. */
export function logKinds({ changeTypes, membersOnly }: Subscription): string[] {
  return Object.entries(typeOfKind)
    .filter(([kind, type]) => changeTypes.includes(type) && (!membersOnly || kind.startsWith('member')))
    .map(([kind]) => kind)
}

export function renderNotifications(stamp: Stamp, changes: readonly LoggedChange[]): object {
  const { kind, namespace } = stamp.subscription
  return {
    value: changes.map((change) => {
      const resource = `${resources[kind].set}/${change.id}`
      const { revision, other } = change
      const removed = change.kind === 'memberRemoved' && { '@removed': 'deleted' }
      return {
        id: `${stamp.subscription.id}_${revision}`,
        ...renderStamp(stamp),
        changeType: typeOfKind[change.kind],
        resource,
        resourceData: {
          '@odata.type': `#${namespace}.${kind}`,
          '@odata.id': resource,
          id: change.id,
          organizationId: stamp.tenantId,
          eventTime: formatDateTime(change.at),
          sequenceNumber: revision,
          ...(change.kind.startsWith('member') && { 'members@delta': [{ id: other, ...removed }] }),
        },
      }
    }),
  }
}

/** Tells the client that it has to look for changes by itself. */
export function renderMissed(stamp: Stamp): object {
  return {
    value: [{ ...renderStamp(stamp), lifecycleEvent: 'missed', resource: stamp.subscription.resource }],
  }
}

function renderStamp({ subscription: { id, expiresAt }, tenantId, clientState }: Stamp) {
  return {
    subscriptionId: id,
    subscriptionExpirationDateTime: formatDateTime(expiresAt),
    tenantId,
    clientState,
  }
}
