interface Role {
  readonly description: string
  readonly actions: readonly string[]
  readonly exceptActions: readonly string[]
}

/** The actions that each role allows at and below its scope. `*` stands for anything. */
export const maskingRoles = {
  Owner: {
    description: 'Everything, and who else may do what.',
    actions: ['*'],
    exceptActions: [],
  },
  Contributor: {
    description: 'Everything but who else may do what.',
    actions: ['*'],
    exceptActions: ['Vendor.Authorization/*/write', 'Vendor.Authorization/*/delete'],
  },
  'SQL Security Manager': {
    description: 'Reads and writes masking, and who gets which database role.',
    actions: [
      'Vendor.Authorization/*/read',
      'Vendor.Sql/servers/read',
      'Vendor.Sql/servers/databases/read',
      'Vendor.Sql/servers/databases/dataMaskingPolicies/*',
      'Vendor.Sql/servers/databases/roleMappings/*',
      'Vendor.Sql/auditEvents/read',
    ],
    exceptActions: [],
  },
  Reader: {
    description: 'Reads everything.',
    actions: ['*/read'],
    exceptActions: [],
  },
} as const satisfies Record<string, Role>

export type MaskingRole = keyof typeof maskingRoles

/** Finds a role by its name, in any case. */
export function findMaskingRole(name: string): MaskingRole | undefined {
  const wanted = name.toLowerCase()
  return (Object.keys(maskingRoles) as MaskingRole[]).find((role) => role.toLowerCase() === wanted)
}

export function roleAllows(name: MaskingRole, action: string): boolean {
  const role: Role = maskingRoles[name]
  const covers = (pattern: string) => matches(pattern, action)
  return role.actions.some(covers) && !role.exceptActions.some(covers)
}

function matches(pattern: string, action: string): boolean {
  const pieces = pattern.toLowerCase().split('*')
  const escaped = pieces.map((piece) => piece.replaceAll(/[.\\+?^${}()|[\]]/g, '\\$&'))
  return new RegExp(`^${escaped.join('.*')}$`, 's').test(action.toLowerCase())
}
