import { useState } from 'react'
import { send } from '../../api/call.ts'
import { forgetDirectory, type Group } from '../../api/directory.ts'
import { ChangeDrawer } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { TextField } from '../../ui/field.tsx'

const fields = { displayName: t.directory.name, description: t.directory.description } as const
const longest = { displayName: 256, description: 1024 } as const
type Field = keyof typeof fields
const names = Object.keys(fields) as Field[]

export function EditGroup({
  group,
  isOpen,
  onClose,
}: {
  readonly group: Group
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [edits, setEdits] = useState<Partial<Record<Field, string>>>({})
  const changed = names.filter((name) => edits[name] !== undefined && edits[name] !== (group[name] ?? ''))
  const save = async (readValue: (name: Field) => string | null) => {
    const body = Object.fromEntries(changed.map((name) => [name, readValue(name)]))
    await send('PATCH', `/v1.0/groups/${group.id}`, { body })
    await forgetDirectory()
  }
  const change = {
    title: t.groups.editTitle(group.displayName ?? group.id),
    fields: names.map((name) => (
      <TextField
        key={name}
        label={fields[name]}
        longest={longest[name]}
        value={edits[name] ?? group[name] ?? ''}
        onChange={(event) => setEdits({ ...edits, [name]: event.target.value })}
      />
    )),
    differences: changed.map((name) => ({
      label: fields[name],
      ...(group[name] && { before: group[name] }),
      ...(edits[name] && { after: edits[name] }),
    })),
    isBlocked: changed.length === 0 || edits.displayName === '',
    confirmLabel: t.directory.save,
    doneText: t.groups.edited,
    apply: () => save((name) => edits[name] || null),
    undo: { apply: () => save((name) => group[name] ?? null) },
  }
  return (
    <ChangeDrawer
      change={isOpen ? change : undefined}
      onClose={() => {
        setEdits({})
        onClose()
      }}
    />
  )
}
