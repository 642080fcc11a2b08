import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import type { Credential } from '../../api/applications.ts'
import { send } from '../../api/call.ts'
import { forgetDirectory } from '../../api/directory.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { type Secret, SecretDialog } from '../../directory/secret-dialog.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Empty } from '../../ui/states.tsx'
import type { Known } from './application-page.tsx'

type Life = keyof typeof t.applications.lives
const dayMs = 86_400_000

export function ApplicationSecrets({
  known,
  mayChange,
}: {
  readonly known: Known
  readonly mayChange: boolean
}) {
  const [isAdding, setAdding] = useState(false)
  const [change, setChange] = useState<Change>()
  const [secret, setSecret] = useState<Secret>()
  const { application } = known
  const columns: readonly Column<Credential>[] = [
    {
      key: 'name',
      header: t.directory.name,
      cell: ({ displayName }) => displayName ?? <span className="faint">–</span>,
    },
    { key: 'hint', header: t.applications.starts, cell: ({ hint }) => <code>{hint}…</code> },
    { key: 'ends', header: t.applications.ends, cell: (credential) => <End credential={credential} /> },
    ...(mayChange && application
      ? [
          {
            key: 'remove',
            header: <span className="visually-hidden">{t.directory.actions}</span>,
            isEnd: true,
            cell: (credential: Credential) => (
              <Button
                tone="ghost"
                size="small"
                onClick={() => setChange(describeRemoval(application.id, credential))}
              >
                {t.applications.removeSecret}
              </Button>
            ),
          },
        ]
      : []),
  ]
  return (
    <div className="stack">
      {mayChange && application && (
        <div>
          <Button tone="primary" onClick={() => setAdding(true)}>
            <KeyRound size={14} aria-hidden />
            {t.applications.addSecret}
          </Button>
        </div>
      )}
      <DataTable
        label={t.applications.secrets}
        columns={columns}
        rows={application?.passwordCredentials ?? []}
        keyOf={({ keyId }) => keyId ?? ''}
        empty={
          <Empty icon={KeyRound} title={t.applications.secretsEmpty}>
            {t.applications.secretsEmptyHint}
          </Empty>
        }
      />
      <AddSecret known={known} isOpen={isAdding} onClose={() => setAdding(false)} onMade={setSecret} />
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
      <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />
    </div>
  )
}

function End({ credential: { endDateTime } }: { readonly credential: Credential }) {
  const isOver = endDateTime !== null && Date.parse(endDateTime) < Date.now()
  return (
    <span className="line">
      <DateText at={endDateTime} isDay />
      {isOver && <Badge tone="bad">{t.applications.ended}</Badge>}
    </span>
  )
}

function describeRemoval(applicationId: string, { keyId, displayName, hint }: Credential): Change {
  return {
    title: t.applications.removeSecretTitle,
    differences: [{ label: t.applications.secrets, before: displayName ?? `${hint}…` }],
    impact: t.applications.removeSecretImpact,
    isDanger: true,
    confirmLabel: t.applications.removeSecret,
    doneText: t.applications.secretRemoved,
    async apply() {
      await send('POST', `/v1.0/applications/${applicationId}/removePassword`, { body: { keyId } })
      await forgetDirectory()
    },
  }
}

function AddSecret({
  known,
  isOpen,
  onClose,
  onMade,
}: {
  readonly known: Known
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onMade: (secret: Secret) => void
}) {
  const [name, setName] = useState('')
  const [life, setLife] = useState<Life>('180')
  const change = {
    title: t.applications.addSecret,
    fields: (
      <>
        <TextField
          label={t.applications.secretName}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <SelectField
          label={t.applications.secretLife}
          value={life}
          onChange={setLife}
          choices={(Object.keys(t.applications.lives) as Life[]).map((value) => ({
            value,
            label: t.applications.lives[value],
          }))}
        />
      </>
    ),
    differences: [],
    confirmLabel: t.applications.addSecret,
    doneText: t.applications.secretMade,
    async apply() {
      const endDateTime = new Date(Date.now() + Number(life) * dayMs).toISOString()
      const { body } = await send<{ secretText: string; endDateTime: string }>(
        'POST',
        `/v1.0/applications/${known.application?.id}/addPassword`,
        { body: { passwordCredential: { displayName: name.trim() || null, endDateTime } } },
      )
      onMade({
        title: t.applications.secretTitle(known.name),
        text: body.secretText,
        endsAt: body.endDateTime,
      })
      await forgetDirectory()
    },
  }
  return (
    <ChangeDrawer
      change={isOpen ? change : undefined}
      onClose={() => {
        setName('')
        onClose()
      }}
    />
  )
}
