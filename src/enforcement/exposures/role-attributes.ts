import { quoteIdentifier } from '../../db/quote.ts'
import type { Exposure, ExposureClass, Scene, Severity } from './exposure.ts'
import type { RoleFacts } from './role-book.ts'

interface Attribute {
  readonly code: string
  readonly severity: Severity
  has(role: RoleFacts, scene: Scene): boolean
  /** What takes it off: `ALTER ROLE … <word>`. */
  readonly opposite: string
  readonly explanation: string
}

/** What makes a role effectively exempt, whatever the policy says. */
const attributes: readonly Attribute[] = [
  {
    code: 'Superuser',
    severity: 'high',
    has: ({ superuser }) => superuser,
    opposite: 'NOSUPERUSER',
    explanation: 'is a superuser: PostgreSQL checks no privilege of it, so it reads every table itself.',
  },
  {
    code: 'Replication',
    severity: 'high',
    has: ({ replication, superuser }) => replication && !superuser,
    opposite: 'NOREPLICATION',
    explanation:
      'has REPLICATION: it can take a base backup of the whole cluster or stream its changes, raw values included.',
  },
  {
    code: 'CreateRole',
    severity: 'high',
    // Since 16, CREATEROLE reaches only the roles that it made itself.
    has: ({ createRole, superuser }, { version }) => createRole && !superuser && version < 160000,
    opposite: 'NOCREATEROLE',
    explanation:
      'has CREATEROLE, which before PostgreSQL 16 lets it join any role that is not a superuser: the owner of the table, an exempt role, pg_read_all_data.',
  },
]

export const roleAttributes: readonly ExposureClass[] = attributes.map(
  ({ code, severity, has, opposite, explanation }) => ({
    code,
    find(scene): Exposure[] {
      const { book, self } = scene
      return [...book.roles.values()]
        .filter((role) => has(role, scene))
        .flatMap((role) => {
          const roles = book.watchedBehind(role.name)
          if (roles.length === 0) return []
          const keeps = role.name === self || role.bootstrap
          return {
            code,
            severity,
            objects: [{ kind: 'role', name: quoteIdentifier(role.name) }],
            roles,
            explanation: `${quoteIdentifier(role.name)} ${explanation}${through(roles, role.name)} Add the role to the exempt principals if it is meant to see raw values.`,
            remedy: keeps
              ? book.revokeMembership(role.name)
              : `ALTER ROLE ${quoteIdentifier(role.name)} ${opposite}`,
            rule: null,
          }
        })
    },
  }),
)

/** How those who are not the role itself come to it. */
export function through(roles: readonly string[], holder: string): string {
  const others = roles.filter((role) => role !== holder)
  return others.length === 0
    ? ''
    : ` ${others.map(quoteIdentifier).join(', ')} can become it by membership (SET ROLE, or by inheritance).`
}
