import { knownPermissions } from '../../auth/known-permissions.ts'
import { type Permission, type PermissionRow, parseCell } from '../../auth/permission.ts'

/** The requirement of a permission, in a sentence. */
export function permissionInWords(permission: Permission): string {
  if ('anyCaller' in permission) return `Any caller: ${permission.anyCaller}`
  if ('action' in permission)
    return `Needs the action \`${permission.action}\` at the scope of the path, by a role assignment.`
  if ('anyRow' in permission) return 'Permissions depend on the kind of the resource.'
  const { delegated, personal, application } = permission.row
  return [
    '| Caller | Permissions, one of |',
    '| --- | --- |',
    `| Person, by an application | ${cellInWords(delegated)} |`,
    `| Person with a personal account | ${cellInWords(personal)} |`,
    `| Application by itself | ${cellInWords(application)} |`,
  ].join('\n')
}

function cellInWords(cell: string): string {
  const alternatives = parseCell(cell)
  if (alternatives.length === 0) return 'Not supported'
  return alternatives.map((names) => names.map((name) => `\`${name}\``).join(' and ')).join(', ')
}

/** The ways to be let in, as alternatives. */
export function describeSecurity(permission: Permission): object[] {
  if ('anyCaller' in permission) return [{ delegated: [] }, { application: [] }, { bearer: [] }]
  if ('action' in permission)
    return [{ delegated: ['user_impersonation'] }, { application: ['.default'] }, { bearer: [] }]
  const rows = 'row' in permission ? [permission.row] : permission.anyRow
  const isForApplications = rows.some(({ application }) => parseCell(application).length > 0)
  return [
    ...delegatedAlternatives(rows).map((scopes) => ({ delegated: scopes })),
    ...(isForApplications ? [{ application: ['.default'] }] : []),
    { bearer: [] },
  ]
}

/** Each alternative once: rows of several kinds share permissions. */
function delegatedAlternatives(rows: readonly PermissionRow[]): (readonly string[])[] {
  const all = rows.flatMap(({ delegated }) => parseCell(delegated))
  return [...new Map(all.map((scopes) => [scopes.join(), scopes])).values()]
}

/** How tokens are had: from our own token service, or elsewhere by a trusted issuer. */
export function describeSchemes(origin: string): object {
  const endpoints = `${origin}/organizations/oauth2/v2.0`
  const delegated = Object.entries(knownPermissions).map(
    ([name, { description }]) => [name, description] as const,
  )
  return {
    delegated: {
      type: 'oauth2',
      description: 'A person signs in, and the application acts within their rights.',
      flows: {
        authorizationCode: {
          authorizationUrl: `${endpoints}/authorize`,
          tokenUrl: `${endpoints}/token`,
          refreshUrl: `${endpoints}/token`,
          scopes: Object.fromEntries(delegated),
        },
      },
    },
    application: {
      type: 'oauth2',
      description: 'An application by itself, with the permissions that were granted to it.',
      flows: {
        clientCredentials: {
          tokenUrl: `${endpoints}/token`,
          scopes: { '.default': 'Everything that was granted to the application' },
        },
      },
    },
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'An access token. `masquerade token --admin` prints one.',
    },
  }
}
