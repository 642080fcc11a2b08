import { kind } from './exposure.ts'
import { joinStatements } from './role-book.ts'

/**
 * Members of pg_read_all_settings, and so of pg_monitor, read the setting by which a standby logs in to its primary, on a primary that was a
 * standby too. The server alone looks at the text: the service asks whether it has a password. A binding that may not read it finds nothing.
 */
export const replicationPassword = kind<{ roles: readonly string[] }>({
  code: 'ReplicationPassword',
  severity: 'high',
  async read({ sql, book }) {
    const roles = book
      .watchedBehind('pg_read_all_settings')
      .filter((role) => !book.roles.get(role)?.superuser)
    if (roles.length === 0) return []
    const [found] = await sql<{ hasPassword: boolean }[]>`
      select setting ~* 'password|://[^/@]*:[^/@]*@' as "hasPassword" from pg_catalog.pg_settings where name = 'primary_conninfo'`
    return found?.hasPassword ? [{ roles }] : []
  },
  describe: (_, { book }) => {
    const isWatched = (member: string) => book.watchedBehind(member).length > 0
    return {
      objects: [{ kind: 'parameter', name: 'primary_conninfo' }],
      explanation:
        'The setting has a password, and members of pg_read_all_settings, such as pg_monitor, may read it: with it a role logs in as the standby does, and takes a copy of the whole cluster. Better than the remedy: put the password into a file (passfile) and take it out of the setting.',
      // pg_monitor keeps what it has from the beginning.
      remedy: joinStatements(
        [
          book.revokeMembership('pg_read_all_settings', (one) => one !== 'pg_monitor' && isWatched(one)),
          book.revokeMembership('pg_monitor'),
        ].filter((text) => text !== null),
      ),
    }
  },
})
