import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { createCredential } from '../../api/credentials.ts'
import { databasesQuery } from '../../api/masking.ts'
import { ChangeDrawer } from '../../change/change-drawer.tsx'
import { namesOf } from '../../directory/scope-link.tsx'
import type { Secret } from '../../directory/secret-dialog.tsx'
import { t } from '../../texts/index.ts'
import { Checkbox, SelectField, TextField } from '../../ui/field.tsx'

type Life = keyof typeof t.credentials.lives
const dayMs = 86_400_000
const allowedName = /^[a-z0-9][a-z0-9._-]{0,63}$/
/** The longest life ends a moment early: the service measures it from a later clock. */
const marginMs = 60_000

interface Draft {
  readonly name: string
  readonly life: Life
  readonly databases: ReadonlySet<string>
  readonly password: string
}

const blank: Draft = { name: '', life: '90', databases: new Set(), password: '' }

export function CreateCredential({
  isOpen,
  onClose,
  onMade,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onMade: (secret: Secret) => void
}) {
  const [draft, setDraft] = useState(blank)
  const { name, life, databases, password } = draft
  const isNamed = allowedName.test(name)
  const change = {
    title: t.credentials.create,
    fields: <Fields draft={draft} onChange={setDraft} />,
    differences: [],
    impact: t.credentials.createImpact,
    isBlocked: !isNamed || password === '',
    confirmLabel: t.credentials.create,
    doneText: t.credentials.made,
    async apply() {
      const { properties } = await createCredential(name, {
        databases: [...databases],
        expiresAt: new Date(Date.now() + Number(life) * dayMs - marginMs).toISOString(),
        currentPassword: password,
      })
      onMade({
        title: t.credentials.secretTitle(name),
        userName: properties.userName,
        text: properties.password,
        endsAt: properties.expiresAt,
      })
    },
  }
  return (
    <ChangeDrawer
      change={isOpen ? change : undefined}
      onClose={() => {
        setDraft(blank)
        onClose()
      }}
    />
  )
}

function Fields({ draft, onChange }: { readonly draft: Draft; readonly onChange: (draft: Draft) => void }) {
  const { name, life, password } = draft
  const isWrong = name !== '' && !allowedName.test(name)
  return (
    <>
      <TextField
        label={t.credentials.nameLabel}
        hint={t.credentials.nameHint}
        fault={isWrong ? t.credentials.nameHint : undefined}
        value={name}
        autoComplete="off"
        onChange={({ target }) => onChange({ ...draft, name: target.value })}
      />
      <SelectField
        label={t.credentials.life}
        value={life}
        onChange={(next) => onChange({ ...draft, life: next })}
        choices={(Object.keys(t.credentials.lives) as Life[]).map((value) => ({
          value,
          label: t.credentials.lives[value],
        }))}
      />
      <ChosenDatabases draft={draft} onChange={onChange} />
      <TextField
        label={t.credentials.currentPassword}
        hint={t.credentials.currentPasswordHint}
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={({ target }) => onChange({ ...draft, password: target.value })}
      />
    </>
  )
}

function ChosenDatabases({
  draft,
  onChange,
}: {
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
}) {
  const { data = [] } = useQuery(databasesQuery)
  const bound = data.filter(({ properties }) => properties.boundTo !== null)
  const choose = (id: string, isChosen: boolean) => {
    const databases = new Set(draft.databases)
    if (isChosen) databases.add(id)
    else databases.delete(id)
    onChange({ ...draft, databases })
  }
  if (bound.length === 0) return null
  return (
    <fieldset className="field choice-list">
      <legend className="label">{t.credentials.databases}</legend>
      <div className="choices">
        {bound.map(({ id }) => (
          <Checkbox
            key={id}
            label={namesOf(id).join(' / ')}
            checked={draft.databases.has(id)}
            onChange={(isChosen) => choose(id, isChosen)}
          />
        ))}
      </div>
      <span className="hint">{t.credentials.databasesHint}</span>
    </fieldset>
  )
}
