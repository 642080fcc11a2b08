import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/call.ts'
import { forgetDirectory, type Named } from '../../api/directory.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { type Secret, SecretDialog } from '../../directory/secret-dialog.tsx'
import { t } from '../../texts/index.ts'
import { Segments, TextField } from '../../ui/field.tsx'
import { readInvitation } from './invitation.ts'

const blank = { displayName: '', userPrincipalName: '', password: '' }

/** A new account. Without a password of the administrator's choice, a one-time password is shown afterwards. */
export function CreatePerson({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [values, setValues] = useState(blank)
  const [way, setWay] = useState<'invite' | 'set'>('invite')
  const [made, setMade] = useState<{ readonly id: string; readonly secret: Secret | undefined }>()
  const navigate = useNavigate()
  const set = (name: keyof typeof blank) => (event: { target: { value: string } }) =>
    setValues({ ...values, [name]: event.target.value })
  const isComplete =
    values.displayName.trim() !== '' &&
    /^[^@\s]+@[^@\s]+$/.test(values.userPrincipalName) &&
    (way === 'invite' || values.password !== '')
  const change: Change = {
    title: t.persons.createTitle,
    fields: (
      <>
        <TextField label={t.persons.displayName} value={values.displayName} onChange={set('displayName')} />
        <TextField
          label={t.persons.signInName}
          value={values.userPrincipalName}
          onChange={set('userPrincipalName')}
          autoComplete="off"
          placeholder="name@example.com"
        />
        <div className="field">
          <span className="label">{t.persons.firstPassword}</span>
          <Segments
            label={t.persons.firstPassword}
            value={way}
            onChange={setWay}
            choices={[
              { value: 'invite', label: t.persons.invite },
              { value: 'set', label: t.persons.setOwn },
            ]}
          />
        </div>
        {way === 'set' && (
          <TextField
            label={t.persons.password}
            type="password"
            autoComplete="new-password"
            hint={t.persons.passwordHint}
            value={values.password}
            onChange={set('password')}
          />
        )}
      </>
    ),
    differences: isComplete ? [{ label: t.persons.account, after: values.userPrincipalName }] : [],
    isBlocked: !isComplete,
    confirmLabel: t.persons.createConfirm,
    doneText: t.persons.created(values.displayName),
    async apply() {
      const { displayName, userPrincipalName } = values
      const password = way === 'set' ? values.password : crypto.randomUUID()
      const { body } = await send<Named>('POST', '/v1.0/users', {
        body: {
          displayName: displayName.trim(),
          userPrincipalName: userPrincipalName.trim(),
          mailNickname: userPrincipalName.split('@')[0]?.replaceAll(/[^\w.-]/g, ''),
          accountEnabled: true,
          passwordProfile: { password, forceChangePasswordNextSignIn: way === 'set' },
        },
      })
      const secret = way === 'invite' ? await readInvitation(body.id, displayName) : undefined
      await forgetDirectory()
      setMade({ id: body.id, secret })
      if (!secret) void navigate({ to: '/people/$id', params: { id: body.id } })
    },
  }
  const close = () => {
    setValues(blank)
    onClose()
  }
  return (
    <>
      <ChangeDrawer change={isOpen ? change : undefined} onClose={close} />
      <SecretDialog
        secret={made?.secret}
        onClose={() => {
          setMade(undefined)
          if (made) void navigate({ to: '/people/$id', params: { id: made.id } })
        }}
      />
    </>
  )
}
