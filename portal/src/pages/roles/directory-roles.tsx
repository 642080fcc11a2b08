import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { send } from '../../api/call.ts'
import { forgetDirectory, type Named, useDirectoryList } from '../../api/directory.ts'
import {
  type DirectoryAssignment,
  directoryAssignmentsPath,
  type RoleDefinition,
  roleDefinitionsQuery,
} from '../../api/role-assignments.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { PrincipalPicker } from '../../directory/principal-picker.tsx'
import { useRight } from '../../session/rights.ts'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { SelectField } from '../../ui/field.tsx'
import { NeedsRole } from '../../ui/needs-role.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'

export function DirectoryRoles() {
  const definitions = useQuery(roleDefinitionsQuery)
  return <Loaded query={definitions}>{({ value }) => <Assignments definitions={value} />}</Loaded>
}

function choicesOf(definitions: readonly RoleDefinition[], first: string) {
  const known = definitions.map(({ id, displayName }) => ({ value: id, label: displayName }))
  return [{ value: '', label: first }, ...known.toSorted((a, b) => a.label.localeCompare(b.label))]
}

function Assignments({ definitions }: { readonly definitions: readonly RoleDefinition[] }) {
  const { role = '' } = useSearch({ from: '/roles' })
  const navigate = useNavigate({ from: '/roles' })
  const { query, more } = useDirectoryList<DirectoryAssignment>(directoryAssignmentsPath(role))
  const mayAssign = useRight('manageRoles')
  const [isAssigning, setAssigning] = useState(false)
  const [change, setChange] = useState<Change>()
  const nameOf = (id: string) => definitions.find((one) => one.id === id)?.displayName ?? id
  const columns: readonly Column<DirectoryAssignment>[] = [
    {
      key: 'role',
      header: t.roles.role,
      cell: ({ roleDefinitionId }) => <strong>{nameOf(roleDefinitionId)}</strong>,
    },
    { key: 'who', header: t.roles.principal, cell: ({ principalId }) => <PrincipalLink id={principalId} /> },
    ...(mayAssign
      ? [
          {
            key: 'remove',
            header: <span className="visually-hidden">{t.directory.actions}</span>,
            isEnd: true,
            width: '110px',
            cell: (one: DirectoryAssignment) => (
              <Button
                tone="ghost"
                size="small"
                onClick={() => setChange(describeRemoval(one, nameOf(one.roleDefinitionId)))}
              >
                {t.roles.remove}
              </Button>
            ),
          },
        ]
      : []),
  ]
  return (
    <div className="stack">
      <div className="filters">
        <SelectField
          label={t.roles.role}
          value={role}
          hint={definitions.find(({ id }) => id === role)?.description}
          choices={choicesOf(definitions, t.roles.allRoles)}
          onChange={(next) =>
            void navigate({ search: { tab: 'directory', ...(next !== '' && { role: next }) }, replace: true })
          }
        />
        {mayAssign ? (
          <Button tone="primary" onClick={() => setAssigning(true)}>
            {t.roles.assign}
          </Button>
        ) : (
          <NeedsRole right="manageRoles" what={t.roles.assigning} />
        )}
      </div>
      <Loaded query={query}>
        {(rows) => (
          <DataTable
            label={t.roles.directory}
            columns={columns}
            rows={rows}
            keyOf={({ id }) => id}
            more={more}
            height="calc(100dvh - 320px)"
            empty={
              <Empty icon={KeyRound} title={t.roles.none}>
                {t.roles.noneHint}
              </Empty>
            }
          />
        )}
      </Loaded>
      <AssignRole definitions={definitions} isOpen={isAssigning} onClose={() => setAssigning(false)} />
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
    </div>
  )
}

function describeRemoval({ id, principalId, roleDefinitionId }: DirectoryAssignment, name: string): Change {
  return {
    title: t.roles.removeTitle(name),
    differences: [
      { label: t.roles.role, before: name },
      { label: t.roles.principal, before: <PrincipalLink id={principalId} /> },
    ],
    impact: t.roles.removeImpact,
    isDanger: true,
    confirmLabel: t.roles.remove,
    doneText: t.roles.removed,
    apply: () => removeAssignment(id),
    undo: { impact: t.roles.assignImpact, apply: () => assignRole(principalId, roleDefinitionId) },
  }
}

const assignmentsPath = '/v1.0/roleManagement/directory/roleAssignments'

async function removeAssignment(id: string): Promise<void> {
  await send('DELETE', `${assignmentsPath}/${encodeURIComponent(id)}`)
  await forgetDirectory()
}

/** Returns the id of the assignment. */
async function assignRole(principalId: string, roleDefinitionId: string): Promise<string> {
  const { body } = await send<{ id: string }>('POST', assignmentsPath, {
    body: { principalId, roleDefinitionId, directoryScopeId: '/' },
  })
  await forgetDirectory()
  return body.id
}

function AssignRole({
  definitions,
  isOpen,
  onClose,
}: {
  readonly definitions: readonly RoleDefinition[]
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [roleId, setRoleId] = useState('')
  const [picked, setPicked] = useState<readonly Named[]>([])
  const role = definitions.find(({ id }) => id === roleId)
  const [principal] = picked
  let assigned = ''
  const change = {
    title: t.roles.assignDirectory,
    fields: (
      <>
        <SelectField
          label={t.roles.role}
          hint={role?.description}
          value={roleId}
          onChange={setRoleId}
          choices={choicesOf(definitions, t.roles.chooseRole)}
        />
        <PrincipalPicker
          label={t.roles.pick}
          sets={['users', 'groups', 'servicePrincipals']}
          picked={picked}
          onPick={setPicked}
        />
      </>
    ),
    differences:
      role && principal ? [{ label: principal.displayName ?? principal.id, after: role.displayName }] : [],
    impact: t.roles.assignImpact,
    isBlocked: !role || !principal,
    confirmLabel: t.roles.assign,
    doneText: t.roles.assigned,
    async apply() {
      assigned = await assignRole(principal?.id ?? '', roleId)
    },
    undo: { impact: t.roles.removeImpact, apply: () => removeAssignment(assigned) },
  }
  return (
    <ChangeDrawer
      change={isOpen ? change : undefined}
      onClose={() => {
        setRoleId('')
        setPicked([])
        onClose()
      }}
    />
  )
}
