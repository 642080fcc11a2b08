import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/call.ts'
import { forgetDirectory, type Named } from '../../api/directory.ts'
import { ChangeDrawer } from '../../change/change-drawer.tsx'
import { useRight } from '../../session/rights.ts'
import { t } from '../../texts/index.ts'
import { Checkbox, TextField } from '../../ui/field.tsx'

const blank = { displayName: '', description: '', isAssignableToRole: false }

export function CreateGroup({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const [values, setValues] = useState(blank)
  const navigate = useNavigate()
  const mayHoldRoles = useRight('manageRoles')
  const name = values.displayName.trim()
  const change = {
    title: t.groups.create,
    fields: (
      <>
        <TextField
          label={t.directory.name}
          value={values.displayName}
          onChange={(event) => setValues({ ...values, displayName: event.target.value })}
        />
        <TextField
          label={t.directory.description}
          value={values.description}
          onChange={(event) => setValues({ ...values, description: event.target.value })}
        />
        {mayHoldRoles && (
          <Checkbox
            label={t.groups.canHoldRoles}
            checked={values.isAssignableToRole}
            onChange={(isAssignableToRole) => setValues({ ...values, isAssignableToRole })}
          />
        )}
      </>
    ),
    differences: name === '' ? [] : [{ label: t.directory.kinds.group, after: name }],
    isBlocked: name === '',
    confirmLabel: t.groups.createConfirm,
    doneText: t.groups.created(name),
    async apply() {
      const { body } = await send<Named>('POST', '/v1.0/groups', {
        body: {
          displayName: name,
          ...(values.description.trim() !== '' && { description: values.description.trim() }),
          mailEnabled: false,
          securityEnabled: true,
          mailNickname: `group-${crypto.randomUUID().slice(0, 8)}`,
          ...(values.isAssignableToRole && { isAssignableToRole: true }),
        },
      })
      await forgetDirectory()
      await navigate({ to: '/groups/$id', params: { id: body.id } })
    },
  }
  return (
    <ChangeDrawer
      change={isOpen ? change : undefined}
      onClose={() => {
        setValues(blank)
        onClose()
      }}
    />
  )
}
