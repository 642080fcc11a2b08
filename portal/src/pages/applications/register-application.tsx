import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Application } from '../../api/applications.ts'
import { send } from '../../api/call.ts'
import { forgetDirectory } from '../../api/directory.ts'
import { ChangeDrawer } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { TextField } from '../../ui/field.tsx'

const blank = { displayName: '', redirectUri: '' }

/** Registers an application together with its service principal, so that permissions can be granted to it. */
export function RegisterApplication({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [values, setValues] = useState(blank)
  const navigate = useNavigate()
  const name = values.displayName.trim()
  const redirectUri = values.redirectUri.trim()
  const change = {
    title: t.applications.register,
    fields: (
      <>
        <TextField
          label={t.directory.name}
          value={values.displayName}
          onChange={(event) => setValues({ ...values, displayName: event.target.value })}
        />
        <TextField
          label={t.applications.redirect}
          hint={t.applications.redirectHint}
          placeholder="https://"
          value={values.redirectUri}
          onChange={(event) => setValues({ ...values, redirectUri: event.target.value })}
        />
      </>
    ),
    differences: name === '' ? [] : [{ label: t.directory.kinds.application, after: name }],
    isBlocked: name === '',
    confirmLabel: t.applications.registerConfirm,
    doneText: t.applications.registered(name),
    async apply() {
      const { body } = await send<Application>('POST', '/v1.0/applications', {
        body: {
          displayName: name,
          ...(redirectUri !== '' && { web: { redirectUris: [redirectUri] } }),
        },
      })
      await send('POST', '/v1.0/servicePrincipals', { body: { appId: body.appId } })
      await forgetDirectory()
      await navigate({ to: '/applications/$appId', params: { appId: body.appId } })
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
