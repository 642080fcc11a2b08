import { useQuery, useQueryClient } from '@tanstack/react-query'
import { UserRoundSearch, Users } from 'lucide-react'
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
import { pathOf } from '../../api/masking.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { PickPrincipal } from '../../directory/pick-principal.tsx'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { TextField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { useDatabasePlace, useRights } from './use-database.ts'

/** Who logs in at the gateway as which database role. */
export function Mappings() {
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
  /** Set while the text is the name of a principal that was chosen, not typed. */
  const [picked, setPicked] = useState<Named>()
  const isReader = useReads('directory')
  const close = (isApplied: boolean) => {
    setChange(undefined)
    if (!isApplied) return
    setRole('')
    setPrincipal('')
    setPicked(undefined)
    void client.invalidateQueries({ queryKey: ['database', pathOf(place)] })
  }
  const add = () =>
    setChange({
      title: t.access.mapTitle(role.trim()),
      differences: [
        { label: t.access.role, after: role.trim() },
        { label: t.access.principal, after: principal.trim() },
      ],
      impact: t.access.mapImpact,
      doneText: t.access.mapDone(role.trim()),
      apply: async () => putMapping(place, role.trim(), picked?.id ?? (await findPrincipalId(principal))),
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
      impact: t.access.unmapImpact,
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
          {isReader && properties.principalType !== null ? (
            <PrincipalLink id={properties.principalId} />
          ) : (
            <strong>{names?.get(properties.principalId) ?? properties.principalId}</strong>
          )}
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
              onChange={({ target }) => {
                setPicked(undefined)
                setPrincipal(target.value)
              }}
            />
            {isReader && (
              <PickPrincipal
                button={t.access.choosePrincipalButton}
                icon={UserRoundSearch}
                title={t.access.choosePrincipal}
                description={t.access.choosePrincipalHint}
                label={t.access.principals}
                sets={['users', 'groups', 'servicePrincipals']}
                size="usual"
                onPick={(one) => {
                  setPicked(one)
                  setPrincipal(one.displayName ?? one.id)
                }}
              />
            )}
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
