import { useState } from 'react'
import type { AppRole, PermissionGrant } from '../../api/applications.ts'
import { ChangeDrawer } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'
import { SelectField } from '../../ui/field.tsx'
import type { Known } from './application-page.tsx'
import { giveConsent, grantPermission } from './permission-changes.ts'

/** Gives a permission of this service's API to an application itself, or consents to it on behalf of everyone. */
export function GrantPermission({
  kind,
  known,
  roles,
  apiId,
  present,
  isOpen,
  onClose,
}: {
  readonly kind: 'application' | 'delegated'
  readonly known: Known
  readonly roles: readonly AppRole[]
  readonly apiId: string
  /** The consent for everyone that there is already: the permission is added to it. */
  readonly present?: PermissionGrant | undefined
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const [roleId, setRoleId] = useState('')
  const role = roles.find(({ id }) => id === roleId)
  const name = role?.value ?? ''
  const grantee = { name: known.name, principalId: known.principal?.id ?? '', apiId }
  const isApplication = kind === 'application'
  const change = {
    title: isApplication ? t.applications.grantTitle(known.name) : t.applications.consentTitle(known.name),
    description: isApplication ? t.applications.appPermissionsHint : t.applications.consentsHint,
    fields: (
      <SelectField
        label={t.applications.permission}
        hint={role?.displayName}
        value={roleId}
        onChange={setRoleId}
        choices={[
          { value: '', label: t.applications.choosePermission },
          ...roles
            .map(({ id, value }) => ({ value: id ?? '', label: value ?? id ?? '' }))
            .toSorted((one, other) => one.label.localeCompare(other.label)),
        ]}
      />
    ),
    differences: role ? [{ label: known.name, after: name }] : [],
    ...(isApplication ? grantPermission(grantee, roleId) : giveConsent(grantee, name, present)),
    isBlocked: !role,
    confirmLabel: isApplication ? t.applications.grant : t.applications.consent,
    doneText: isApplication ? t.applications.granted : t.applications.consented,
  }
  return (
    <ChangeDrawer
      change={isOpen ? change : undefined}
      onClose={() => {
        setRoleId('')
        onClose()
      }}
    />
  )
}
