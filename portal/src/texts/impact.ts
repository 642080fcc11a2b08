export const impact = {
  nobody: 'No role gains or loses raw values.',
  notBound: 'The database is not bound: nothing happens to roles or sessions.',
  loses: (role: string, relations: number) =>
    `${role} sees masked values in ${relations === 1 ? '1 table' : `${relations} tables`}`,
  gains: (role: string, relations: number) =>
    `${role} gains raw values in ${relations === 1 ? '1 table' : `${relations} tables`}`,
  sessions: (count: number) => (count === 1 ? '1 open session' : `${count} open sessions`),
  ended: (count: number) =>
    count === 1
      ? '1 session ends, because it may hold raw values'
      : `${count} sessions end, because they may hold raw values`,
  closed: (relation: string) => `${relation} is closed to masked roles`,
  exempt: 'Exempt it',
  exemptRole: (role: string) => `Exempt ${role}`,
  exempted: 'exempt: keeps raw values',
  noRight: 'Roles and sessions are shown to people with the role SQL Security Manager, Contributor or Owner.',
} as const
