import { directoryRoleTemplates } from './directory-roles.ts'
import { type Bond, effectiveRights, findRight, type RightName } from './effective-rights.ts'
import { grantableByApplicationAdministrators } from './grantable-permissions.ts'
import { renderImpliedPermissions } from './implied-permissions.ts'

const bondWords: Readonly<Record<Bond, string>> = {
  self: 'the own account',
  owner: 'an owner of the object',
  member: 'a member of the group',
  applicationOwner: 'an owner of the application',
  everyone: 'every person, by the setting `MASQUERADE_EVERYONE_CREATES`',
}

/** The text of `docs/permissions.md`. */
export function renderPermissions(): string {
  return ['# Permissions and rights', '', renderImpliedPermissions(), renderEffectiveRights()].join('\n')
}

function renderEffectiveRights(): string {
  const rows = (Object.keys(effectiveRights) as RightName[]).map((name) => {
    const { deed, roles, unifiedRoles = [], bonds } = findRight(name)
    const unified = unifiedRoles.map((role) => `${role} (unified groups)`)
    const others = bonds.map((bond) => bondWords[bond])
    return `| ${deed} | ${[...roles, ...unified].join(', ') || 'none'} | ${others.join(', ') || 'none'} |`
  })
  const idle = Object.keys(directoryRoleTemplates).filter((role) => !rows.some((row) => row.includes(role)))
  const low = [...grantableByApplicationAdministrators].map((name) => `\`${name}\``)
  return [
    '## Rights of the signed-in person',
    '',
    'A delegated token writes what its permissions allow **and** what its person may do. Each write of the directory API',
    'takes one of these rights; a person has it by a directory role, or without a role by what stands in the last column.',
    'Application tokens have no person and go by their permissions alone. Made from `src/auth/effective-rights.ts`.',
    '',
    '| right to | directory roles | without a role |',
    '|---|---|---|',
    ...rows,
    '',
    `The roles ${idle.join(', ')} include no write.`,
    '',
    'Application Administrator and Cloud Application Administrator grant these permissions, and those that people can',
    `consent to by themselves: ${low.join(', ')}. Global Administrator and Privileged Role Administrator grant all.`,
    '',
    'What an application is granted, each holder of its secrets and certificates has, and each address that it signs people in at. A holder of',
    '`Application.ReadWrite.All`, an Application Administrator or an owner can add these while the application has little. Before you grant a',
    'permission, a consent, a role or a mapping to an application, look at its credentials, addresses and owners, and in the audit at the',
    'caller who added each.',
    '',
    'Some objects take more than this table says: groups, accounts and applications that carry rights. `docs/threat-model.md`',
    'has the rules.',
    '',
  ].join('\n')
}
