import { useState } from 'react'
import { send } from '../../api/call.ts'
import { forgetDirectory, type User } from '../../api/directory.ts'
import { ChangeDrawer } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { TextField } from '../../ui/field.tsx'

const fields = {
  displayName: t.persons.displayName,
  givenName: t.persons.givenName,
  surname: t.persons.surname,
  jobTitle: t.persons.jobTitle,
  department: t.persons.department,
  companyName: t.persons.company,
  officeLocation: t.persons.office,
  mobilePhone: t.persons.phone,
} as const

/** The limits of the service where they are not 64. */
const longest: Partial<Record<Field, number>> = { displayName: 256, jobTitle: 128, officeLocation: 128 }

type Field = keyof typeof fields
const names = Object.keys(fields) as Field[]

export function EditPerson({
  user,
  isOpen,
  onClose,
}: {
  readonly user: User
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [edits, setEdits] = useState<Partial<Record<Field, string>>>({})
  const changed = names.filter((name) => edits[name] !== undefined && edits[name] !== (user[name] ?? ''))
  const close = () => {
    setEdits({})
    onClose()
  }
  const save = async (readValue: (name: Field) => string | null) => {
    const body = Object.fromEntries(changed.map((name) => [name, readValue(name)]))
    await send('PATCH', `/v1.0/users/${user.id}`, { body })
    await forgetDirectory()
  }
  const change = {
    title: t.persons.editTitle(user.displayName ?? user.userPrincipalName),
    fields: (
      <div className="stack tight">
        {names.map((name) => (
          <TextField
            key={name}
            label={fields[name]}
            longest={longest[name] ?? 64}
            value={edits[name] ?? user[name] ?? ''}
            onChange={(event) => setEdits({ ...edits, [name]: event.target.value })}
          />
        ))}
      </div>
    ),
    differences: changed.map((name) => ({
      label: fields[name],
      ...(user[name] && { before: user[name] }),
      ...(edits[name] && { after: edits[name] }),
    })),
    isBlocked: changed.length === 0,
    confirmLabel: t.directory.save,
    doneText: t.persons.edited,
    apply: () => save((name) => edits[name] || null),
    undo: { apply: () => save((name) => user[name] ?? null) },
  }
  return <ChangeDrawer change={isOpen ? change : undefined} onClose={close} />
}
