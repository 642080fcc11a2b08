import { useNavigate } from '@tanstack/react-router'
import { send } from '../../api/call.ts'
import { forgetDirectory, type Named } from '../../api/directory.ts'
import type { Change } from '../../change/change-drawer.tsx'
import { CreateForm, type FormProps } from '../../directory/create-form.tsx'
import { useRight } from '../../session/rights.ts'
import { t } from '../../texts/index.ts'
import { Checkbox, TextField } from '../../ui/field.tsx'

const blank = { displayName: '', description: '', isAssignableToRole: false }

export function CreateGroup(form: FormProps) {
  const navigate = useNavigate()
  const mayHoldRoles = useRight('manageRoles')
  const describe = (values: typeof blank, set: (change: Partial<typeof blank>) => void): Change => {
    const [name, description] = [values.displayName.trim(), values.description.trim()]
    return {
      title: t.groups.create,
      fields: (
        <>
          <TextField
            label={t.directory.name}
            longest={256}
            value={values.displayName}
            onChange={({ target }) => set({ displayName: target.value })}
          />
          <TextField
            label={t.directory.description}
            longest={1024}
            value={values.description}
            onChange={({ target }) => set({ description: target.value })}
          />
          {mayHoldRoles && (
            <Checkbox
              label={t.groups.canHoldRoles}
              checked={values.isAssignableToRole}
              onChange={(isAssignableToRole) => set({ isAssignableToRole })}
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
            ...(description !== '' && { description }),
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
  }
  return <CreateForm {...form} blank={blank} describe={describe} />
}
