import { useQuery } from '@tanstack/react-query'
import { sendBatch, throwRefused } from '../api/batch.ts'
import { forgetDirectory, type Named } from '../api/directory.ts'
import type { Change } from '../change/change-drawer.tsx'
import { t } from '../texts/index.ts'
import { Loaded, Skeleton } from '../ui/states.tsx'
import { rightNames, rightsQuery } from './carried-rights.tsx'
import { ScopeLink } from './scope-link.tsx'

/** The rights that a new member gets, or that a member who leaves loses. */
export function RightsImpact({
  groupId,
  isLoss = false,
}: {
  readonly groupId: string
  readonly isLoss?: boolean
}) {
  const query = useQuery(rightsQuery('groups', groupId))
  return (
    <Loaded query={query} skeleton={<Skeleton lines={2} />}>
      {({ value }) => (
        <div className="stack tight small">
          {isLoss && value.length > 0 && <p>{t.groups.removeImpact}</p>}
          <p className="quiet">{describeCount(value.length, isLoss)}</p>
          <ul className="stack tight">
            {value.map(({ type, name, scope, through }) => (
              <li key={`${type} ${name} ${scope} ${through}`}>
                <strong>{name ?? rightNames[type] ?? type}</strong> <ScopeLink scope={scope} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </Loaded>
  )
}

function describeCount(count: number, isLoss: boolean): string {
  if (isLoss) return count === 0 ? t.groups.losesNothing : t.groups.loses(count)
  return count === 0 ? t.groups.carriesNothing : t.groups.carries(count)
}

/** The collection of one object: members of a group, or owners of a group or application. */
export interface Relation {
  readonly set: 'groups' | 'applications' | 'servicePrincipals'
  readonly object: Named
  readonly name: 'members' | 'owners'
}

export async function addRelated({ set, object, name }: Relation, related: readonly Named[]): Promise<void> {
  const requests = related.map(({ id }) => ({
    method: 'POST',
    url: `/${set}/${object.id}/${name}/$ref`,
    body: { '@odata.id': `${location.origin}/v1.0/directoryObjects/${id}` },
  }))
  const outcomes = await sendBatch(requests)
  await forgetDirectory()
  throwRefused(outcomes)
}

/** Removes them in few requests. */
export async function dropRelated({ set, object, name }: Relation, related: readonly Named[]): Promise<void> {
  const requests = related.map(({ id }) => ({
    method: 'DELETE',
    url: `/${set}/${object.id}/${name}/${id}/$ref`,
  }))
  const outcomes = await sendBatch(requests)
  await forgetDirectory()
  throwRefused(outcomes)
}

export function removeRelated(of: Relation, related: Named): Change {
  const { object, name: relation } = of
  const [name, from] = [related.displayName ?? related.id, object.displayName ?? object.id]
  return {
    title: t.groups.removeTitle(name, from),
    differences: [{ label: t.groups[relation], before: name }],
    ...(relation === 'members' && { impact: <RightsImpact groupId={object.id} isLoss /> }),
    isDanger: true,
    confirmLabel: t.directory.remove,
    doneText: t.groups.removed(name),
    apply: () => dropRelated(of, [related]),
    undo: {
      ...(relation === 'members' && { impact: <RightsImpact groupId={object.id} /> }),
      apply: () => addRelated(of, [related]),
    },
  }
}
