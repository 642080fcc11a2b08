import { useQuery } from '@tanstack/react-query'
import { ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import {
  type AppRole,
  type AppRoleAssignment,
  apiQuery,
  assignmentsQuery,
  grantsQuery,
  isOwn,
  type PermissionGrant,
} from '../../api/applications.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { useRight } from '../../session/rights.ts'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { DateText } from '../../ui/date.tsx'
import { NeedsRole } from '../../ui/needs-role.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import type { Known } from './application-page.tsx'
import { GrantPermission } from './grant-permission.tsx'
import { withdrawConsent, withdrawPermission } from './permission-changes.ts'

export function ApplicationPermissions({ known }: { readonly known: Known }) {
  const api = useQuery(apiQuery)
  if (!known.principal) return <p className="quiet">{t.applications.noPrincipal}</p>
  const { id } = known.principal
  return (
    <Loaded query={api}>
      {({ value }) => (
        <>
          <AppPermissions
            known={known}
            principalId={id}
            roles={value[0]?.appRoles ?? []}
            apiId={value[0]?.id ?? ''}
          />
          <Consents
            known={known}
            principalId={id}
            roles={value[0]?.appRoles ?? []}
            apiId={value[0]?.id ?? ''}
          />
        </>
      )}
    </Loaded>
  )
}

interface SectionProps {
  readonly known: Known
  readonly principalId: string
  readonly roles: readonly AppRole[]
  readonly apiId: string
}

function AppPermissions({ known, principalId, roles, apiId }: SectionProps) {
  const query = useQuery(assignmentsQuery(principalId))
  const mayGrant = useRight('grantPermission') && !isOwn(known.appId)
  const [isGranting, setGranting] = useState(false)
  const [change, setChange] = useState<Change>()
  const nameOf = ({ appRoleId }: AppRoleAssignment) =>
    roles.find(({ id }) => id === appRoleId)?.value ?? appRoleId
  const columns: readonly Column<AppRoleAssignment>[] = [
    { key: 'name', header: t.applications.permission, cell: (one) => <code>{nameOf(one)}</code> },
    {
      key: 'what',
      header: t.directory.description,
      cell: ({ appRoleId }) => (
        <span className="quiet">{roles.find(({ id }) => id === appRoleId)?.displayName ?? '–'}</span>
      ),
    },
    {
      key: 'when',
      header: t.persons.assigned,
      cell: ({ createdDateTime }) => <DateText at={createdDateTime} isRelative />,
    },
    ...(mayGrant
      ? [
          withdrawColumn((one: AppRoleAssignment) =>
            setChange(withdrawPermission({ name: known.name, principalId, apiId }, one, nameOf(one))),
          ),
        ]
      : []),
  ]
  return (
    <Card
      title={t.applications.appPermissions}
      actions={
        mayGrant ? (
          <Button size="small" onClick={() => setGranting(true)}>
            {t.applications.grant}
          </Button>
        ) : (
          !isOwn(known.appId) && <NeedsRole right="grantPermission" what={t.applications.granting} />
        )
      }
      isFlush
    >
      <Loaded query={query}>
        {({ value }) => (
          <DataTable
            label={t.applications.appPermissions}
            columns={columns}
            rows={value}
            keyOf={({ id }) => id}
            empty={
              <Empty icon={ShieldCheck} title={t.applications.permissionsEmpty}>
                {t.applications.permissionsEmptyHint}
              </Empty>
            }
          />
        )}
      </Loaded>
      <GrantPermission
        kind="application"
        known={known}
        roles={roles}
        apiId={apiId}
        isOpen={isGranting}
        onClose={() => setGranting(false)}
      />
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
    </Card>
  )
}

function Consents({ known, principalId, roles, apiId }: SectionProps) {
  const query = useQuery(grantsQuery(principalId))
  const mayConsent = useRight('consent') && !isOwn(known.appId)
  const [isConsenting, setConsenting] = useState(false)
  const [change, setChange] = useState<Change>()
  const columns: readonly Column<PermissionGrant>[] = [
    {
      key: 'for',
      header: t.applications.forWhom,
      cell: ({ principalId: person }) =>
        person ? <PrincipalLink id={person} /> : <strong>{t.applications.everyone}</strong>,
    },
    {
      key: 'scope',
      header: t.applications.permissions,
      wraps: true,
      cell: ({ scope }) => <code>{scope}</code>,
    },
    ...(mayConsent
      ? [
          withdrawColumn((grant: PermissionGrant) =>
            setChange(withdrawConsent({ name: known.name, principalId, apiId }, grant)),
          ),
        ]
      : []),
  ]
  return (
    <Card
      title={t.applications.consents}
      actions={
        mayConsent && (
          <Button size="small" onClick={() => setConsenting(true)}>
            {t.applications.consent}
          </Button>
        )
      }
      isFlush
    >
      <Loaded query={query}>
        {({ value }) => (
          <>
            <DataTable
              label={t.applications.consents}
              columns={columns}
              rows={value}
              keyOf={({ id }) => id}
              empty={
                <Empty icon={ShieldCheck} title={t.applications.consentsEmpty}>
                  {t.applications.consentsEmptyHint}
                </Empty>
              }
            />
            <GrantPermission
              kind="delegated"
              known={known}
              roles={roles}
              apiId={apiId}
              present={value.find(({ consentType }) => consentType === 'AllPrincipals')}
              isOpen={isConsenting}
              onClose={() => setConsenting(false)}
            />
          </>
        )}
      </Loaded>
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
    </Card>
  )
}

function withdrawColumn<Row>(begin: (row: Row) => void): Column<Row> {
  return {
    key: 'withdraw',
    header: <span className="visually-hidden">{t.directory.actions}</span>,
    isEnd: true,
    width: '110px',
    cell: (row) => (
      <Button tone="ghost" size="small" onClick={() => begin(row)}>
        {t.applications.withdraw}
      </Button>
    ),
  }
}
