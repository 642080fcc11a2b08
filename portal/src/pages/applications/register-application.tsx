import { useNavigate } from '@tanstack/react-router'
import type { Application } from '../../api/applications.ts'
import { send } from '../../api/call.ts'
import { forgetDirectory } from '../../api/directory.ts'
import type { Change } from '../../change/change-drawer.tsx'
import { CreateForm, type FormProps } from '../../directory/create-form.tsx'
import { t } from '../../texts/index.ts'
import { TextField } from '../../ui/field.tsx'

const blank = { displayName: '', redirectUri: '' }

/** Registers an application together with its service principal, so that permissions can be granted to it. */
export function RegisterApplication(form: FormProps) {
  const navigate = useNavigate()
  const describe = (values: typeof blank, set: (change: Partial<typeof blank>) => void): Change => {
    const [name, redirectUri] = [values.displayName.trim(), values.redirectUri.trim()]
    return {
      title: t.applications.register,
      fields: (
        <>
          <TextField
            label={t.directory.name}
            longest={256}
            value={values.displayName}
            onChange={({ target }) => set({ displayName: target.value })}
          />
          <TextField
            label={t.applications.redirect}
            hint={t.applications.redirectHint}
            placeholder="https://"
            value={values.redirectUri}
            onChange={({ target }) => set({ redirectUri: target.value })}
          />
        </>
      ),
      differences: name === '' ? [] : [{ label: t.directory.kinds.application, after: name }],
      isBlocked: name === '',
      confirmLabel: t.applications.registerConfirm,
      doneText: t.applications.registered(name),
      async apply() {
        const { body } = await send<Application>('POST', '/v1.0/applications', {
          body: { displayName: name, ...(redirectUri !== '' && { web: { redirectUris: [redirectUri] } }) },
        })
        await send('POST', '/v1.0/servicePrincipals', { body: { appId: body.appId } })
        await forgetDirectory()
        await navigate({ to: '/applications/$appId', params: { appId: body.appId } })
      },
    }
  }
  return <CreateForm {...form} blank={blank} describe={describe} />
}
