import { useQuery } from '@tanstack/react-query'
import { UserRoundSearch, UserX } from 'lucide-react'
import { useState } from 'react'
import { documentQuery, type Exemption } from '../../api/document.ts'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { PickPrincipal } from '../../directory/pick-principal.tsx'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { TextField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { useDocumentChange } from './document-change.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'

/** Who sees raw values, by name, by group or as a database role. */
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
        differences: [{ label: name, before: t.access.seesMasked, after: t.access.seesRaw }],
        after: (before) => ({
          ...before,
          policy: { ...before.policy, exemptPrincipals: [...before.policy.exemptPrincipals, added] },
        }),
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
      cell: ({ kind }) => (
        <Badge tone={kind === 'Nothing' ? 'warn' : 'neutral'}>{t.access.kinds[kind]}</Badge>
      ),
    },
    {
      key: 'remove',
      header: <span className="visually-hidden">{t.access.remove}</span>,
      isEnd: true,
      cell: (exemption) =>
        mayWrite && (
          <Button
            size="small"
            aria-label={t.access.removeOf(exemption.name)}
            onClick={() => remove(exemption)}
          >
            {t.access.remove}
          </Button>
        ),
    },
  ]
  return (
    <Card title={t.access.exempt} isFlush>
      <div className="panel-intro">
        <p className="quiet small">{t.access.exemptHint}</p>
        {mayWrite && (
          <form
            className="add-line"
            onSubmit={(event) => {
              event.preventDefault()
              add(entry.trim())
            }}
          >
            <TextField
              label={t.access.entry}
              hint={t.access.entryHint}
              value={entry}
              onChange={({ target }) => setEntry(target.value)}
            />
            <Button type="submit" disabled={entry.trim() === ''}>
              {t.access.add}
            </Button>
            {isReader && (
              <PickPrincipal
                button={t.access.chooseExemptButton}
                icon={UserRoundSearch}
                title={t.access.chooseExempt}
                description={t.access.chooseExemptHint}
                label={t.access.principals}
                sets={['users', 'groups', 'servicePrincipals']}
                size="usual"
                onPick={({ id, appId, displayName }) => add(appId ?? id, displayName ?? id)}
              />
            )}
          </form>
        )}
      </div>
      <Loaded query={query}>
        {({ exemptions }) =>
          exemptions.length === 0 ? (
            <Empty icon={UserX} title={t.access.noExempt}>
              {t.access.noExemptHint}
            </Empty>
          ) : (
            <DataTable
              label={t.access.exemptions}
              columns={columns}
              rows={exemptions}
              keyOf={({ entry: key }) => key}
            />
          )
        }
      </Loaded>
      {drawer}
    </Card>
  )
}
