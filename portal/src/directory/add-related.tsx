import { useState } from 'react'
import type { Named } from '../api/directory.ts'
import { ChangeDrawer } from '../change/change-drawer.tsx'
import { t } from '../texts/index.ts'
import type { FormProps } from './create-form.tsx'
import { type Pickable, PrincipalPicker } from './principal-picker.tsx'
import { addRelated, dropRelated, type Relation, RightsImpact } from './related-objects.tsx'

const pickable: Readonly<Record<Relation['name'], readonly Pickable[]>> = {
  members: ['users', 'groups', 'servicePrincipals'],
  owners: ['users'],
}

/** Adds members or owners, of whom several are picked at once. */
export function AddRelated({ relation, isOpen, onClose }: FormProps & { readonly relation: Relation }) {
  const [picked, setPicked] = useState<readonly Named[]>([])
  const { object } = relation
  const isMembers = relation.name === 'members'
  const name = object.displayName ?? object.id
  const change = {
    title: isMembers ? t.groups.addMembersTitle(name) : t.groups.addOwnersTitle(name),
    fields: (
      <PrincipalPicker
        label={isMembers ? t.groups.pickMembers : t.groups.pickOwners}
        sets={pickable[relation.name]}
        picked={picked}
        onPick={setPicked}
        isMultiple
      />
    ),
    differences: picked.map((one) => ({ label: one.displayName ?? one.id, after: t.groups[relation.name] })),
    ...(isMembers && { impact: <RightsImpact groupId={object.id} /> }),
    isBlocked: picked.length === 0,
    confirmLabel: t.directory.add,
    doneText: t.groups.added(picked.length),
    apply: () => addRelated(relation, picked),
    undo: {
      ...(isMembers && { impact: <RightsImpact groupId={object.id} isLoss /> }),
      apply: () => dropRelated(relation, picked),
    },
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
