import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Users } from 'lucide-react'
import { useState } from 'react'
import {
  deleteMapping,
  findPrincipalId,
  type Mapping,
  mappingsQuery,
  namesQuery,
  putMapping,
} from '../../api/access.ts'
import type { Named } from '../../api/directory.ts'
import { documentQuery } from '../../api/document.ts'
import { pathOf } from '../../api/masking.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { TextField } from '../../ui/field.tsx'
import { Unknown } from '../../ui/unknown.tsx'
import { AccessPanel } from './access-panel.tsx'
import { judgeSight, mappedRightsQuery, type Sight } from './sight.ts'
import { useDatabasePlace, useRights } from './use-database.ts'

/** The database roles that people, groups and applications log in as at the gateway. */
export function Mappings() {
  const place = useDatabasePlace()
  const client = useQueryClient()
  const { mayMap } = useRights()
  const query = useQuery(mappingsQuery(place))
  const { data: names } = useQuery(
    namesQuery(query.data?.map(({ properties }) => properties.principalId) ?? [], useReads('directory')),
  )
  const [change, setChange] = useState<Change>()
  const [role, setRole] = useState('')
  const [principal, setPrincipal] = useState('')
  /** Set while the text is the name of a principal that was chosen, not typed. */
  const [picked, setPicked] = useState<Named>()
  const isReader = useReads('directory')
  const asked = mappedRightsQuery(query.data ?? [])
  const { data: rights } = useQuery({ ...asked, enabled: isReader && asked.enabled === true })
  const { data: document } = useQuery(documentQuery(place))
  const close = (isApplied: boolean) => {
    setChange(undefined)
    if (!isApplied) return
    setRole('')
    setPrincipal('')
    setPicked(undefined)
    void forget()
  }
  const forget = () => client.invalidateQueries({ queryKey: ['database', pathOf(place)] })
  const add = () => {
    const name = crypto.randomUUID()
    setChange({
      title: t.access.mapTitle(role.trim()),
      differences: [
        { label: t.access.role, after: role.trim() },
        { label: t.access.principal, after: principal.trim() },
      ],
      impact: t.access.mapImpact,
      doneText: t.access.mapDone(role.trim()),
      apply: async () =>
        putMapping(place, role.trim(), picked?.id ?? (await findPrincipalId(principal)), name),
      undo: { impact: t.access.unmapImpact, apply: () => deleteMapping(place, name).then(forget) },
    })
  }
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
      impact: t.access.unmapImpact,
      isDanger: true,
      confirmLabel: t.access.remove,
      doneText: t.access.unmapDone(properties.databaseRole),
      apply: () => deleteMapping(place, name),
      undo: {
        impact: t.access.mapImpact,
        apply: () => putMapping(place, properties.databaseRole, properties.principalId, name).then(forget),
      },
    })
  const columns: readonly Column<Mapping>[] = [
    { key: 'role', header: t.access.role, cell: ({ properties }) => <code>{properties.databaseRole}</code> },
    {
      key: 'principal',
      header: t.access.principal,
      cell: ({ properties }) => (
        <span className="line">
          {isReader && properties.principalType !== null ? (
            <PrincipalLink id={properties.principalId} />
          ) : (
            <strong>{names?.get(properties.principalId) ?? properties.principalId}</strong>
          )}
          <span className="faint">{properties.principalType ?? t.access.deleted}</span>
        </span>
      ),
    },
    ...(rights && document
      ? [
          {
            key: 'sees',
            header: t.access.sees,
            cell: ({ properties: { principalId, principalType } }: Mapping) => {
              const held = rights.get(principalId)
              if (held) return <SightCell sight={judgeSight(held, document.exemptions, place)} />
              return principalType !== null && <Unknown />
            },
          },
        ]
      : []),
  ]
  return (
    <AccessPanel
      title={t.access.mappings}
      hint={t.access.mappingsHint}
      query={query}
      label={t.access.mappings}
      columns={columns}
      keyOf={({ name }) => name}
      nameOf={({ properties }) => properties.databaseRole}
      onRemove={remove}
      mayChange={mayMap}
      addition={{
        fields: (
          <>
            <TextField label={t.access.role} value={role} onChange={({ target }) => setRole(target.value)} />
            <TextField
              label={t.access.principalId}
              hint={t.access.principalHint}
              value={principal}
              onChange={({ target }) => {
                setPicked(undefined)
                setPrincipal(target.value)
              }}
            />
          </>
        ),
        button: t.access.addMapping,
        isReady: role.trim() !== '' && principal.trim() !== '',
        onAdd: add,
        picker: {
          button: t.access.choosePrincipalButton,
          title: t.access.choosePrincipal,
          hint: t.access.choosePrincipalHint,
        },
        onPick: (one) => {
          setPicked(one)
          setPrincipal(one.displayName ?? one.id)
        },
      }}
      empty={{ icon: Users, title: t.access.noMappings, hint: t.access.noMappingsHint }}
    >
      <ChangeDrawer change={change} onClose={close} />
    </AccessPanel>
  )
}

/** Raw or masked values for the principal, and the reason: a group, a role, or their own name. */
function SightCell({ sight: { seesRaw, through, role } }: { readonly sight: Sight }) {
  return (
    <span className="line">
      <Badge tone={seesRaw ? 'warn' : 'accent'}>{seesRaw ? t.access.raw : t.access.masked}</Badge>
      {through !== null && (
        <>
          <span className="faint small">{t.access.through}</span> <PrincipalLink id={through} />
        </>
      )}
      {role !== null && (
        <>
          <span className="faint small">{t.access.asRole}</span> <code>{role}</code>
        </>
      )}
    </span>
  )
}
