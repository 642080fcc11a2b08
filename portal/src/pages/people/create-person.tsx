import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/call.ts'
import { forgetDirectory, type Named } from '../../api/directory.ts'
import type { Change } from '../../change/change-drawer.tsx'
import { CreateForm, type FormProps } from '../../directory/create-form.tsx'
import { type Secret, SecretDialog } from '../../directory/secret-dialog.tsx'
import { t } from '../../texts/index.ts'
import { Segments, TextField } from '../../ui/field.tsx'
import { readInvitation } from './invitation.ts'

interface Values {
  readonly displayName: string
  readonly userPrincipalName: string
  readonly password: string
  readonly way: 'invite' | 'set'
}

const blank: Values = { displayName: '', userPrincipalName: '', password: '', way: 'invite' }

/** A new account. Without a password of the administrator's choice, a one-time password is shown afterwards. */
export function CreatePerson(form: FormProps) {
  const [made, setMade] = useState<{ readonly id: string; readonly secret: Secret | undefined }>()
  const navigate = useNavigate()
  const describe = (values: Values, set: (change: Partial<Values>) => void): Change => {
    const { displayName, userPrincipalName, way } = values
    const isComplete =
      displayName.trim() !== '' &&
      /^[^@\s]+@[^@\s]+$/.test(userPrincipalName) &&
      (way === 'invite' || values.password !== '')
    return {
      title: t.persons.createTitle,
      fields: <Fields values={values} set={set} />,
      differences: isComplete ? [{ label: t.persons.account, after: userPrincipalName }] : [],
      isBlocked: !isComplete,
      confirmLabel: t.persons.createConfirm,
      doneText: t.persons.created(displayName),
      async apply() {
        const id = await create(values)
        const secret = way === 'invite' ? await readInvitation(id, displayName) : undefined
        await forgetDirectory()
        setMade({ id, secret })
        if (!secret) void navigate({ to: '/people/$id', params: { id } })
      },
    }
  }
  return (
    <>
      <CreateForm {...form} blank={blank} describe={describe} />
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

function Fields({
  values,
  set,
}: {
  readonly values: Values
  readonly set: (change: Partial<Values>) => void
}) {
  return (
    <>
      <TextField
        label={t.persons.displayName}
        longest={256}
        value={values.displayName}
        onChange={({ target }) => set({ displayName: target.value })}
      />
      <TextField
        label={t.persons.signInName}
        value={values.userPrincipalName}
        onChange={({ target }) => set({ userPrincipalName: target.value })}
        autoComplete="off"
        placeholder="name@example.com"
      />
      <div className="field">
        <span className="label">{t.persons.firstPassword}</span>
        <Segments
          label={t.persons.firstPassword}
          value={values.way}
          onChange={(way) => set({ way })}
          choices={[
            { value: 'invite', label: t.persons.invite },
            { value: 'set', label: t.persons.setOwn },
          ]}
        />
      </div>
      {values.way === 'set' && (
        <TextField
          label={t.persons.password}
          type="password"
          autoComplete="new-password"
          hint={t.persons.passwordHint}
          value={values.password}
          onChange={({ target }) => set({ password: target.value })}
        />
      )}
    </>
  )
}

async function create({ displayName, userPrincipalName, password, way }: Values): Promise<string> {
  const { body } = await send<Named>('POST', '/v1.0/users', {
    body: {
      displayName: displayName.trim(),
      userPrincipalName: userPrincipalName.trim(),
      mailNickname: userPrincipalName.split('@')[0]?.replaceAll(/[^\w.-]/g, ''),
      accountEnabled: true,
      passwordProfile: {
        password: way === 'set' ? password : crypto.randomUUID(),
        forceChangePasswordNextSignIn: way === 'set',
      },
    },
  })
  return body.id
}
