import { useState } from 'react'
import type { Group, Named } from '../../api/directory.ts'
import { ChangeDrawer } from '../../change/change-drawer.tsx'
import { type Pickable, PrincipalPicker } from '../../directory/principal-picker.tsx'
import { t } from '../../texts/index.ts'
import { addToGroup, type Relation, RightsImpact } from './group-changes.tsx'

const pickable: Readonly<Record<Relation, readonly Pickable[]>> = {
  members: ['users', 'groups', 'servicePrincipals'],
  owners: ['users'],
}

export function AddToGroup({
  group,
  relation,
  isOpen,
  onClose,
}: {
  readonly group: Group
  readonly relation: Relation
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [picked, setPicked] = useState<readonly Named[]>([])
  const name = group.displayName ?? group.id
  const change = {
    title: relation === 'members' ? t.groups.addMembersTitle(name) : t.groups.addOwnersTitle(name),
    fields: (
      <PrincipalPicker
        label={relation === 'members' ? t.groups.pickMembers : t.groups.pickOwners}
        sets={pickable[relation]}
        picked={picked}
        onPick={setPicked}
        isMultiple
      />
    ),
    differences: picked.map((one) => ({ label: one.displayName ?? one.id, after: t.groups[relation] })),
    ...(relation === 'members' && { impact: <RightsImpact groupId={group.id} /> }),
    isBlocked: picked.length === 0,
    confirmLabel: t.directory.add,
    doneText: t.groups.added(picked.length),
    apply: () => addToGroup(group.id, relation, picked),
  }
  return (
    <ChangeDrawer
      change={isOpen ? change : undefined}
      onClose={() => {
        setPicked([])
        onClose()
      }}
    />
  )
}
