import { useQuery } from '@tanstack/react-query'
import { UserX } from 'lucide-react'
import { useState } from 'react'
import { type DocumentProperties, documentQuery, type Exemption, impactQuery } from '../../api/document.ts'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { TextField } from '../../ui/field.tsx'
import { AccessPanel } from './access-panel.tsx'
import { useDocumentChange } from './document-change.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'

function withEntry(before: DocumentProperties, added: string): DocumentProperties {
  const exemptPrincipals = [...before.policy.exemptPrincipals, added]
  return { ...before, policy: { ...before.policy, exemptPrincipals } }
}

/** What an entry brings about, in the words of its impact: a name that matches nothing exempts no one. */
function Sight({ entry, next }: { readonly entry: string; readonly next: DocumentProperties }) {
  const { maySeeImpact } = useRights()
  const { data } = useQuery({ ...impactQuery(useDatabasePlace(), next), enabled: maySeeImpact })
  const isNothing = data?.notes.some(({ code, target }) => code === 'ExemptsNothing' && target === entry)
  return isNothing ? t.access.exemptsNoOne : t.access.seesRaw
}

/** The exemptions: people, groups and database roles that see raw values. */
export function Exemptions() {
  const { mayWrite } = useRights()
  const query = useQuery(documentQuery(useDatabasePlace()))
  const { drawer, propose } = useDocumentChange()
  const [entry, setEntry] = useState('')
  const isReader = useReads('directory')
  const add = (added: string, name = added) =>
    propose(
      {
        title: t.access.addTitle(name),
        differences: [
          {
            label: name,
            before: t.access.seesMasked,
            after: query.data && <Sight entry={added} next={withEntry(query.data.properties, added)} />,
          },
        ],
        after: (before) => withEntry(before, added),
        doneText: t.access.addDone(name),
      },
      () => setEntry(''),
    )
  const remove = ({ entry: gone, name }: Exemption) =>
    propose({
      title: t.access.removeTitle(name),
      differences: [{ label: name, before: t.access.seesRaw, after: t.access.seesMasked }],
      after: (before) => ({
        ...before,
        policy: {
          ...before.policy,
          exemptPrincipals: before.policy.exemptPrincipals.filter((one) => one !== gone),
        },
      }),
      isDanger: true,
      confirmLabel: t.access.remove,
      doneText: t.access.removeDone(name),
    })
  const columns: readonly Column<Exemption>[] = [
    {
      key: 'name',
      header: t.access.name,
      cell: ({ id, name }) => (id !== null && isReader ? <PrincipalLink id={id} /> : <strong>{name}</strong>),
    },
    {
      key: 'kind',
      header: t.access.kind,
      cell: ({ kind, roleNotExempt }) => (
        <>
          <Badge tone={kind === 'Nothing' ? 'warn' : 'neutral'}>{t.access.kinds[kind]}</Badge>
          {roleNotExempt && <Badge tone="warn">{t.access.roleNotExempt}</Badge>}
        </>
      ),
    },
  ]
  return (
    <AccessPanel
      title={t.access.exempt}
      hint={t.access.exemptHint}
      query={{ ...query, data: query.data?.exemptions }}
      label={t.access.exemptions}
      columns={columns}
      keyOf={({ entry: key }) => key}
      nameOf={({ name }) => name}
      onRemove={remove}
      mayChange={mayWrite}
      addition={{
        fields: (
          <TextField
            label={t.access.entry}
            hint={t.access.entryHint}
            value={entry}
            onChange={({ target }) => setEntry(target.value)}
          />
        ),
        button: t.access.add,
        isReady: entry.trim() !== '',
        onAdd: () => add(entry.trim()),
        picker: {
          button: t.access.chooseExemptButton,
          title: t.access.chooseExempt,
          hint: t.access.chooseExemptHint,
        },
        onPick: ({ id, appId, displayName }) => add(appId ?? id, displayName ?? id),
      }}
      empty={{ icon: UserX, title: t.access.noExempt, hint: t.access.noExemptHint }}
    >
      {drawer}
    </AccessPanel>
  )
}
