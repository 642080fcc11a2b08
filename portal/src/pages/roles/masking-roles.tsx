import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { KeyRound, Lock } from 'lucide-react'
import { useState } from 'react'
import { send } from '../../api/call.ts'
import type { Named } from '../../api/directory.ts'
import { allows, databasesQuery, permissionsQuery } from '../../api/masking.ts'
import { queryClient } from '../../api/query-client.ts'
import {
  type MaskingAssignment,
  maskingAssignmentsQuery,
  maskingRoles,
  scopesOf,
} from '../../api/role-assignments.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { PrincipalPicker } from '../../directory/principal-picker.tsx'
import { namesOf, ScopeLink } from '../../directory/scope-link.tsx'
import { useReads } from '../../session/readable.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'

const forget = () => queryClient.invalidateQueries({ queryKey: ['role assignments'] })

/** Roles of masking, at the scope that the reader chose among those of the databases they see. */
export function MaskingRoles() {
  const { scope = '' } = useSearch({ from: '/roles' })
  const navigate = useNavigate({ from: '/roles' })
  const databases = useQuery(databasesQuery)
  const permissions = useQuery(permissionsQuery(scope))
  const choices = scopesOf(databases.data ?? []).map((value) => ({
    value,
    label: value === '' ? t.roles.everywhere : namesOf(value).join(' / '),
  }))
  return (
    <div className="stack">
      <div className="filters">
        <SelectField
          label={t.roles.scope}
          value={scope}
          choices={choices}
          onChange={(next) =>
            void navigate({ search: { tab: 'masking', ...(next !== '' && { scope: next }) }, replace: true })
          }
        />
      </div>
      <Loaded query={permissions}>
        {(held) =>
          allows(held, 'Vendor.Authorization/roleAssignments/read') ? (
            <Assignments
              scope={scope}
              mayAssign={allows(held, 'Vendor.Authorization/roleAssignments/write')}
            />
          ) : (
            <div className="card">
              <Empty icon={Lock} title={t.states.forbiddenTitle}>
                {t.roles.maskingNeeds}
              </Empty>
            </div>
          )
        }
      </Loaded>
    </div>
  )
}

function Assignments({ scope, mayAssign }: { readonly scope: string; readonly mayAssign: boolean }) {
  const query = useQuery(maskingAssignmentsQuery(scope))
  const canPick = useReads('directory')
  const [isAssigning, setAssigning] = useState(false)
  const [change, setChange] = useState<Change>()
  const columns: readonly Column<MaskingAssignment>[] = [
    { key: 'role', header: t.roles.role, cell: ({ properties }) => <strong>{properties.roleName}</strong> },
    {
      key: 'who',
      header: t.roles.principal,
      cell: ({ properties }) => <PrincipalLink id={properties.principalId} />,
    },
    { key: 'scope', header: t.roles.scope, cell: ({ properties }) => <ScopeLink scope={properties.scope} /> },
    {
      key: 'since',
      header: t.roles.since,
      cell: ({ properties }) => <DateText at={properties.createdOn} isRelative />,
    },
    ...(mayAssign
      ? [
          {
            key: 'remove',
            header: <span className="visually-hidden">{t.directory.actions}</span>,
            isEnd: true,
            width: '110px',
            cell: (one: MaskingAssignment) => (
              <Button tone="ghost" size="small" onClick={() => setChange(describeRemoval(one))}>
                {t.roles.remove}
              </Button>
            ),
          },
        ]
      : []),
  ]
  return (
    <>
      <div>
        {mayAssign && canPick ? (
          <Button tone="primary" onClick={() => setAssigning(true)}>
            {t.roles.assign}
          </Button>
        ) : (
          <p className="quiet small">{t.roles.maskingOwner}</p>
        )}
      </div>
      <Loaded query={query}>
        {(rows) => (
          <DataTable
            label={t.roles.masking}
            columns={columns}
            rows={rows}
            keyOf={({ id }) => id}
            height="calc(100dvh - 340px)"
            empty={
              <Empty icon={KeyRound} title={t.roles.maskingNone}>
                {t.roles.maskingNoneHint}
              </Empty>
            }
          />
        )}
      </Loaded>
      <AssignRole scope={scope} isOpen={isAssigning} onClose={() => setAssigning(false)} />
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
    </>
  )
}

function describeRemoval({ id, properties }: MaskingAssignment): Change {
  return {
    title: t.roles.removeTitle(properties.roleName),
    differences: [
      { label: t.roles.role, before: properties.roleName },
      { label: t.roles.principal, before: <PrincipalLink id={properties.principalId} /> },
    ],
    impact: t.roles.removeImpact,
    isDanger: true,
    confirmLabel: t.roles.remove,
    doneText: t.roles.removed,
    apply: () => removeAssignment(id),
    undo: { impact: t.roles.assignImpact, apply: () => putAssignment(id, properties) },
  }
}

async function removeAssignment(path: string): Promise<void> {
  await send('DELETE', path)
  await forget()
}

async function putAssignment(
  path: string,
  { principalId, roleName }: Pick<MaskingAssignment['properties'], 'principalId' | 'roleName'>,
): Promise<void> {
  await send('PUT', path, { body: { properties: { principalId, roleName } } })
  await forget()
}

function AssignRole({
  scope,
  isOpen,
  onClose,
}: {
  readonly scope: string
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [role, setRole] = useState<(typeof maskingRoles)[number]>('Reader')
  const [picked, setPicked] = useState<readonly Named[]>([])
  const [principal] = picked
  const path = `${scope}/providers/Vendor.Authorization/roleAssignments/${crypto.randomUUID()}`
  const change = {
    title: t.roles.assignMasking,
    fields: (
      <>
        <SelectField
          label={t.roles.role}
          value={role}
          onChange={setRole}
          choices={maskingRoles.map((value) => ({ value, label: value }))}
        />
        <PrincipalPicker
          label={t.roles.pick}
          sets={['users', 'groups', 'servicePrincipals']}
          picked={picked}
          onPick={setPicked}
        />
      </>
    ),
    differences: principal
      ? [
          { label: principal.displayName ?? principal.id, after: role },
          { label: t.roles.scope, after: <ScopeLink scope={scope || '/'} /> },
        ]
      : [],
    impact: t.roles.assignImpact,
    isBlocked: !principal,
    confirmLabel: t.roles.assign,
    doneText: t.roles.assigned,
    apply: () => putAssignment(path, { principalId: principal?.id ?? '', roleName: role }),
    undo: { impact: t.roles.removeImpact, apply: () => removeAssignment(path) },
  }
  return (
    <ChangeDrawer
      change={isOpen ? change : undefined}
      onClose={() => {
        setPicked([])
        onClose()
      }}
    />
  )
}
