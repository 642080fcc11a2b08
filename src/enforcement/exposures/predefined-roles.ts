import { quoteIdentifier } from '../../db/quote.ts'
import type { Exposure, ExposureClass, Severity } from './exposure.ts'

/** Roles of PostgreSQL itself that see past privileges. */
const predefined: readonly { role: string; code: string; severity: Severity; can: string }[] = [
  {
    role: 'pg_read_all_data',
    code: 'ReadsAllData',
    severity: 'high',
    can: 'may read every table, whatever is granted on it: as effectively exempt as a superuser',
  },
  {
    role: 'pg_read_server_files',
    code: 'ServerFiles',
    severity: 'high',
    can: "may read any file that the server can read (COPY … FROM 'file', pg_read_file), the tables' own files included",
  },
  {
    role: 'pg_write_server_files',
    code: 'ServerFiles',
    severity: 'high',
    can: 'may write any file that the server can write, its configuration included, and so run code as the server',
  },
  {
    role: 'pg_execute_server_program',
    code: 'ServerFiles',
    severity: 'high',
    can: 'may run programs as the account of the server (COPY … FROM PROGRAM), which reads everything',
  },
  {
    role: 'pg_read_all_stats',
    code: 'QueryTexts',
    severity: 'low',
    can: 'sees the texts of the queries of all sessions (pg_stat_activity): values that others write into their SQL are in them',
  },
]

export const predefinedRoles: readonly ExposureClass[] = [...new Set(predefined.map(({ code }) => code))].map(
  (code) => ({
    code,
    find({ book }): Exposure[] {
      return predefined
        .filter((entry) => entry.code === code)
        .flatMap(({ role, severity, can }) => {
          const roles = book.watchedBehind(role).filter((one) => !book.roles.get(one)?.superuser)
          if (roles.length === 0) return []
          return {
            code,
            severity,
            objects: [{ kind: 'role', name: role }],
            roles,
            explanation: `${roles.map(quoteIdentifier).join(', ')}: a member of ${role} ${can}.`,
            remedy: book.revokeMembership(role),
            rule: null,
          }
        })
    },
  }),
)
