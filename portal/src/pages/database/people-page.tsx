import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Users, UserX } from 'lucide-react'
import { useState } from 'react'
import {
  deleteMapping,
  findPrincipalId,
  type Mapping,
  mappingsQuery,
  namesQuery,
  putMapping,
} from '../../api/access.ts'
import { documentQuery, type Exemption } from '../../api/document.ts'
import { pathOf } from '../../api/masking.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { TextField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { useDocumentChange } from './document-change.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'
import './people.css'

/** Who sees raw values, and who logs in as what. */
export function PeoplePage() {
  return (
    <>
      <Exemptions />
      <Mappings />
    </>
  )
}

function Exemptions() {
  const { mayWrite } = useRights()
  const query = useQuery(documentQuery(useDatabasePlace()))
  const { drawer, propose } = useDocumentChange()
  const [entry, setEntry] = useState('')
  const add = () =>
    propose(
      {
        title: t.access.addTitle(entry.trim()),
        differences: [{ label: entry.trim(), before: t.access.seesMasked, after: t.access.seesRaw }],
        after: (before) => ({
          ...before,
          policy: { ...before.policy, exemptPrincipals: [...before.policy.exemptPrincipals, entry.trim()] },
        }),
        doneText: t.access.addDone(entry.trim()),
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
    { key: 'name', header: t.access.name, cell: ({ name }) => <strong>{name}</strong> },
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
              add()
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

function Mappings() {
  const place = useDatabasePlace()
  const client = useQueryClient()
  const { mayMap } = useRights()
  const query = useQuery(mappingsQuery(place))
  const { data: names } = useQuery(
    namesQuery(query.data?.map(({ properties }) => properties.principalId) ?? []),
  )
  const [change, setChange] = useState<Change>()
  const [role, setRole] = useState('')
  const [principal, setPrincipal] = useState('')
  const close = (isApplied: boolean) => {
    setChange(undefined)
    if (!isApplied) return
    setRole('')
    setPrincipal('')
    void client.invalidateQueries({ queryKey: ['database', pathOf(place)] })
  }
  const add = () =>
    setChange({
      title: t.access.mapTitle(role.trim()),
      differences: [
        { label: t.access.role, after: role.trim() },
        { label: t.access.principal, after: principal.trim() },
      ],
      doneText: t.access.mapDone(role.trim()),
      apply: async () => putMapping(place, role.trim(), await findPrincipalId(principal)),
    })
  const remove = ({ name, properties }: Mapping) =>
    setChange({
      title: t.access.unmapTitle(properties.databaseRole),
      differences: [
        {
          label: properties.databaseRole,
          before: names?.get(properties.principalId) ?? properties.principalId,
          after: t.states.none,
        },
      ],
      isDanger: true,
      confirmLabel: t.access.remove,
      doneText: t.access.unmapDone(properties.databaseRole),
      apply: () => deleteMapping(place, name),
    })
  const columns: readonly Column<Mapping>[] = [
    { key: 'role', header: t.access.role, cell: ({ properties }) => <code>{properties.databaseRole}</code> },
    {
      key: 'principal',
      header: t.access.principal,
      cell: ({ properties }) => (
        <span className="line">
          <strong>{names?.get(properties.principalId) ?? properties.principalId}</strong>
          <span className="faint">{properties.principalType ?? t.access.deleted}</span>
        </span>
      ),
    },
    {
      key: 'remove',
      header: <span className="visually-hidden">{t.access.remove}</span>,
      isEnd: true,
      cell: (mapping) =>
        mayMap && (
          <Button
            size="small"
            aria-label={t.access.removeOf(mapping.properties.databaseRole)}
            onClick={() => remove(mapping)}
          >
            {t.access.remove}
          </Button>
        ),
    },
  ]
  return (
    <Card title={t.access.mappings} isFlush>
      <div className="panel-intro">
        <p className="quiet small">{t.access.mappingsHint}</p>
        {mayMap && (
          <form
            className="add-line"
            onSubmit={(event) => {
              event.preventDefault()
              add()
            }}
          >
            <TextField label={t.access.role} value={role} onChange={({ target }) => setRole(target.value)} />
            <TextField
              label={t.access.principalId}
              hint={t.access.principalHint}
              value={principal}
              onChange={({ target }) => setPrincipal(target.value)}
            />
            <Button type="submit" disabled={role.trim() === '' || principal.trim() === ''}>
              {t.access.addMapping}
            </Button>
          </form>
        )}
      </div>
      <Loaded query={query}>
        {(mappings) =>
          mappings.length === 0 ? (
            <Empty icon={Users} title={t.access.noMappings}>
              {t.access.noMappingsHint}
            </Empty>
          ) : (
            <DataTable
              label={t.access.mappings}
              columns={columns}
              rows={mappings}
              keyOf={({ name }) => name}
            />
          )
        }
      </Loaded>
      <ChangeDrawer change={change} onClose={close} />
    </Card>
  )
}
