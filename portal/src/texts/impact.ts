export const impact = {
  nobody: 'No role gains or loses raw values.',
  notBound: 'The database is not bound: nothing happens to roles or sessions.',
  loses: (role: string, relations: number) =>
    `${role} sees masked values in ${relations === 1 ? '1 table' : `${relations} tables`}`,
  gains: (role: string, relations: number) =>
    `${role} gains raw values in ${relations === 1 ? '1 table' : `${relations} tables`}`,
  tablesLeft: (count: number) =>
    count === 1
      ? 'Roles may gain raw values in 1 more table that is not looked at here.'
      : `Roles may gain raw values in ${count.toLocaleString()} more tables that are not looked at here.`,
  rolesLeft: (table: string) =>
    `${table} has more than 500 roles: those behind them may gain raw values too.`,
  notRead: (table: string) => `The roles of ${table} could not be read: any of them may gain raw values.`,
  sessions: (count: number) => (count === 1 ? '1 open session' : `${count} open sessions`),
  ended: (count: number) =>
    count === 1
      ? '1 session ends, because it may hold raw values'
      : `${count} sessions end, because they may hold raw values`,
  reading: (count: number) =>
    count === 1
      ? '1 session may go on reading raw values by an open cursor, until this ends it'
      : `${count} sessions may go on reading raw values by open cursors, until these end them`,
  closed: (relation: string) => `${relation} is closed to masked roles`,
  exempt: 'Exempt it',
  exemptRole: (role: string) => `Exempt ${role}`,
  exempted: 'exempt: keeps raw values',
  noRight: 'Roles and sessions are shown to people with the role SQL Security Manager, Contributor or Owner.',
} as const
