import { useState } from 'react'
import { send } from '../../api/call.ts'
import type { User } from '../../api/directory.ts'
import { ChangeDrawer } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { Checkbox, TextField } from '../../ui/field.tsx'

export function SetPassword({
  user,
  isOpen,
  onClose,
}: {
  readonly user: User
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [password, setPassword] = useState('')
  const [mustChange, setMustChange] = useState(true)
  const close = () => {
    setPassword('')
    onClose()
  }
  const change = {
    title: t.persons.setPasswordTitle(user.displayName ?? user.userPrincipalName),
    fields: (
      <>
        <TextField
          label={t.persons.password}
          type="password"
          autoComplete="new-password"
          hint={t.persons.passwordHint}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Checkbox label={t.persons.mustChange} checked={mustChange} onChange={setMustChange} />
      </>
    ),
    differences: [],
    impact: t.persons.setPasswordImpact,
    isBlocked: password === '',
    doneText: t.persons.setPasswordDone,
    async apply() {
      const passwordProfile = { password, forceChangePasswordNextSignIn: mustChange }
      await send('PATCH', `/v1.0/users/${user.id}`, { body: { passwordProfile } })
    },
  }
  return <ChangeDrawer change={isOpen ? change : undefined} onClose={close} />
}
