import type { AppRoleAssignment, PermissionGrant } from '../../api/applications.ts'
import { send } from '../../api/call.ts'
import { forgetDirectory } from '../../api/directory.ts'
import type { Change } from '../../change/change-drawer.tsx'
import { t } from '../../texts/index.ts'

/** The application that gets or loses a permission of this service's API. */
export interface Grantee {
  readonly name: string
  readonly principalId: string
  /** The service principal of the API. */
  readonly apiId: string
}

type Effect = Pick<Change, 'impact' | 'apply' | 'undo'>

const grantsPath = '/v1.0/oauth2PermissionGrants'

async function write(method: string, path: string, body?: object): Promise<string> {
  const answer = await send<{ id?: string } | undefined>(method, path, body === undefined ? {} : { body })
  await forgetDirectory()
  return answer.body?.id ?? ''
}

/** Gives an application a permission of its own. */
export function grantPermission({ name, principalId, apiId }: Grantee, appRoleId: string): Effect {
  const path = `/v1.0/servicePrincipals/${principalId}/appRoleAssignments`
  let id = ''
  return {
    impact: t.applications.grantImpact(name),
    async apply() {
      id = await write('POST', path, { principalId, resourceId: apiId, appRoleId })
    },
    undo: {
      impact: t.applications.withdrawImpact(name),
      apply: () => write('DELETE', `${path}/${encodeURIComponent(id)}`),
    },
  }
}

/** Consents to a permission for everyone. `present`: the consent for everyone that there is already. */
export function giveConsent(
  { name, principalId, apiId }: Grantee,
  permission: string,
  present: PermissionGrant | undefined,
): Effect {
  const words = {
    gain: t.applications.consentImpact(name),
    loss: t.applications.withdrawImpact(name),
  }
  if (present) {
    const path = `${grantsPath}/${encodeURIComponent(present.id)}`
    const setScope = (scope: string | null) => write('PATCH', path, { scope })
    return {
      impact: words.gain,
      apply: () => setScope(`${present.scope} ${permission}`),
      undo: { impact: words.loss, apply: () => setScope(present.scope) },
    }
  }
  let id = ''
  return {
    impact: words.gain,
    async apply() {
      const all = {
        clientId: principalId,
        consentType: 'AllPrincipals',
        resourceId: apiId,
        scope: permission,
      }
      id = await write('POST', grantsPath, all)
    },
    undo: { impact: words.loss, apply: () => write('DELETE', `${grantsPath}/${encodeURIComponent(id)}`) },
  }
}

function describeRemoval(
  name: string,
  permission: string,
  path: string,
  again: NonNullable<Change['undo']>,
): Change {
  return {
    title: t.applications.withdrawTitle(permission),
    differences: [{ label: name, before: permission }],
    impact: t.applications.withdrawImpact(name),
    isDanger: true,
    confirmLabel: t.applications.withdraw,
    doneText: t.applications.withdrawn,
    apply: () => write('DELETE', path),
    undo: again,
  }
}

export function withdrawPermission(
  grantee: Grantee,
  { id, appRoleId, resourceId }: AppRoleAssignment,
  permission: string,
): Change {
  const path = `/v1.0/servicePrincipals/${grantee.principalId}/appRoleAssignments/${encodeURIComponent(id)}`
  return describeRemoval(
    grantee.name,
    permission,
    path,
    grantPermission({ ...grantee, apiId: resourceId }, appRoleId),
  )
}

export function withdrawConsent({ name }: Grantee, grant: PermissionGrant): Change {
  const { id, clientId, consentType, principalId, resourceId, scope } = grant
  const path = `${grantsPath}/${encodeURIComponent(id)}`
  return describeRemoval(name, scope ?? '', path, {
    impact: t.applications.consentImpact(name),
    apply: () =>
      write('POST', grantsPath, {
        clientId,
        consentType,
        resourceId,
        scope,
        ...(principalId && { principalId }),
      }),
  })
}
