import type { AppRoleAssignment, PermissionGrant } from '../../api/applications.ts'
import { send } from '../../api/call.ts'
import { forgetDirectory } from '../../api/directory.ts'
import type { Change } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'

function describeRemoval(name: string, path: string): Change {
  return {
    title: t.applications.withdrawTitle(name),
    differences: [{ label: t.applications.permission, before: name }],
    impact: t.applications.withdrawImpact,
    isDanger: true,
    confirmLabel: t.applications.withdraw,
    doneText: t.applications.withdrawn,
    async apply() {
      await send('DELETE', path)
      await forgetDirectory()
    },
  }
}

export function describeWithdrawal(principalId: string, { id }: AppRoleAssignment, name: string): Change {
  return describeRemoval(
    name,
    `/v1.0/servicePrincipals/${principalId}/appRoleAssignments/${encodeURIComponent(id)}`,
  )
}

export function withdrawConsent({ id, scope }: PermissionGrant): Change {
  return describeRemoval(scope, `/v1.0/oauth2PermissionGrants/${encodeURIComponent(id)}`)
}
