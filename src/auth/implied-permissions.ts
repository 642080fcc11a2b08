/**
 * The permissions that each permission implies: the whole table, for rows that list the least privileged permission only.
 *
 * No permission implies another that a row asks for beside it, and none reaches the credentials of applications or
 * directory roles but by its own name.
 */
export const impliedPermissions: Readonly<Record<string, readonly string[]>> = {
  'Application.ReadWrite.All': ['Application.Read.All'],
  'Calendars.ReadWrite': ['Calendars.Read'],
  'Contacts.ReadWrite': ['Contacts.Read'],
  'Device.ReadWrite.All': ['Device.Read.All'],
  'Directory.Read.All': [
    'Application.Read.All',
    'Device.Read.All',
    'Group.Read.All',
    'Organization.Read.All',
    'OrgContact.Read.All',
    'RoleManagement.Read.Directory',
    'User.Read.All',
  ],
  'Directory.ReadWrite.All': [
    'Device.ReadWrite.All',
    'Directory.Read.All',
    'Group.ReadWrite.All',
    'GroupMember.ReadWrite.All',
    'Organization.ReadWrite.All',
    'User.ReadWrite.All',
  ],
  'Group.Read.All': ['GroupMember.Read.All'],
  'Group.ReadWrite.All': ['Group.Read.All'],
  'GroupMember.ReadWrite.All': ['GroupMember.Read.All'],
  'Mail.Read': ['Mail.ReadBasic'],
  'Mail.ReadWrite': ['Mail.Read'],
  'Organization.ReadWrite.All': ['Organization.Read.All'],
  'RoleManagement.ReadWrite.Directory': ['RoleManagement.Read.Directory'],
  'Tasks.ReadWrite': ['Tasks.Read'],
  'Tasks.ReadWrite.All': ['Tasks.Read.All'],
  'User.Read.All': ['User.Read', 'User.ReadBasic.All'],
  'User.ReadWrite': ['User.Read'],
  'User.ReadWrite.All': ['User.Read.All', 'User.ReadWrite'],
}

/** A stronger permission does as well, unless the row asks for both: adding a group to a group needs both. */
const standIns: Readonly<Record<string, string>> = { 'GroupMember.ReadWrite.All': 'Group.ReadWrite.All' }

/** True if the caller holds a permission that a row asks for, or one that does as well in this row. */
export function satisfies(held: ReadonlySet<string>, name: string, all: readonly string[]): boolean {
  const other = standIns[name]
  return held.has(name) || (other !== undefined && held.has(other) && !all.includes(other))
}

/** The permissions with everything they imply, through any number of steps. */
export function withImplied(permissions: Iterable<string>): ReadonlySet<string> {
  const held = new Set(permissions)
  // A set that grows while it is walked is walked to its end.
  for (const name of held) if (Object.hasOwn(impliedPermissions, name)) addAll(held, impliedPermissions[name])
  return held
}

function addAll(held: Set<string>, names: readonly string[] = []): void {
  for (const name of names) held.add(name)
}

/** The part of `docs/permissions.md` about implied permissions. */
export function renderImpliedPermissions(): string {
  const rows = Object.keys(impliedPermissions).map((name) => {
    const all = [...withImplied([name])].filter((other) => other !== name).sort()
    return `| \`${name}\` | ${all.map((other) => `\`${other}\``).join(', ')} |`
  })
  return [
    '## Permissions that imply others',
    '',
    'Some tables of the directory API name the least privileged permission alone. There, a stronger permission of this',
    'table does as well. Every other table is exact: a permission that it does not list does not help. This page is',
    'generated from `src/auth/implied-permissions.ts` (`npm run docs`).',
    '',
    '| permission | holds, with all that follows |',
    '|---|---|',
    ...rows,
    '',
    ...Object.entries(standIns).map(
      ([weaker, stronger]) =>
        `\`${stronger}\` does as well as \`${weaker}\` in a row of these tables that does not ask for both.`,
    ),
    '',
  ].join('\n')
}
