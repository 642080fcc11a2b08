import { useQuery } from '@tanstack/react-query'
import { sendBatch, throwRefused } from '../../api/batch.ts'
import { send } from '../../api/call.ts'
import { forgetDirectory, type Group, type Named } from '../../api/directory.ts'
import type { Change } from '../../change/change-drawer.tsx'
import { rightsQuery } from '../../directory/carried-rights.tsx'
import { ScopeLink } from '../../directory/scope-link.tsx'
import { t } from '../../texts/index.ts'
import { Loaded, Skeleton } from '../../ui/states.tsx'

export type Relation = 'members' | 'owners'

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
                <strong>{name ?? t.directory.rights[type]}</strong> <ScopeLink scope={scope} />
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

export async function addToGroup(
  groupId: string,
  relation: Relation,
  objects: readonly Named[],
): Promise<void> {
  const requests = objects.map(({ id }) => ({
    method: 'POST',
    url: `/groups/${groupId}/${relation}/$ref`,
    body: { '@odata.id': `${location.origin}/v1.0/directoryObjects/${id}` },
  }))
  const outcomes = await sendBatch(requests)
  await forgetDirectory()
  throwRefused(outcomes)
}

export function removeFromGroup(group: Group, relation: Relation, object: Named): Change {
  const [name, groupName] = [object.displayName ?? object.id, group.displayName ?? group.id]
  return {
    title: t.groups.removeTitle(name, groupName),
    differences: [{ label: t.groups[relation], before: name }],
    ...(relation === 'members' && { impact: <RightsImpact groupId={group.id} isLoss /> }),
    isDanger: true,
    confirmLabel: t.directory.remove,
    doneText: t.groups.removed(name),
    async apply() {
      await send('DELETE', `/v1.0/groups/${group.id}/${relation}/${object.id}/$ref`)
      await forgetDirectory()
    },
  }
}
