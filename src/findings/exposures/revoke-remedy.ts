import { quoteIdentifier } from '../../db/quote.ts'
import { hasLoginForm } from '../../masks/names.ts'
import type { Role } from '../../masks/read/roles.ts'

/** One entry of an access control list. Grantee null: PUBLIC. */
export interface AclEntry {
  readonly grantee: string | null
  readonly privilege: string
  /** Null or undefined: on the whole object. */
  readonly column?: string | null
}

/** Exempt roles, and the privileges that they have through PUBLIC, as GRANT names them: `UPDATE ("email")`. */
export interface Lost {
  readonly roles: readonly string[]
  readonly privileges: readonly string[]
}

export interface Revoke {
  /** As GRANT and REVOKE name it: `ROUTINE app.peek()`. */
  readonly on: string
  readonly privileges: readonly string[]
  /** The grantees, as a list for a REVOKE. */
  readonly list: string
  readonly lost: Lost
  /** The words before both: `ALTER DEFAULT PRIVILEGES … `. */
  readonly prefix?: string
}

/**
 * The statements for an operator that take privileges from these grantees. Exempt roles keep what they have through
 * PUBLIC: `BEGIN; GRANT … TO app; REVOKE … FROM PUBLIC CASCADE; COMMIT`.
 */
export function writeRevoke({ on, privileges, list, lost, prefix = '' }: Revoke): string {
  const cascade = prefix === '' ? ' CASCADE' : ''
  const revoke = `${prefix}REVOKE ${privileges.join(', ')} ON ${on} FROM ${list}${cascade}`
  if (lost.roles.length === 0 || lost.privileges.length === 0) return revoke
  const to = lost.roles.map(quoteIdentifier).join(', ')
  const grant = `${prefix}GRANT ${lost.privileges.join(', ')} ON ${on} TO ${to}`
  return ['BEGIN', grant, revoke, 'COMMIT'].join(';\n')
}

/** What PUBLIC has of these privileges. */
export function findLost(
  acl: readonly AclEntry[],
  privileges: readonly string[],
  roles: readonly string[],
): Lost {
  const given = privileges.flatMap((privilege) => {
    const entries = acl.filter((one) => one.grantee === null && one.privilege === privilege)
    if (entries.length === 0) return []
    const columns = entries.flatMap(({ column }) => (column ? quoteIdentifier(column) : []))
    return columns.length < entries.length
      ? [privilege]
      : [`${privilege} (${[...new Set(columns)].join(', ')})`]
  })
  return { roles, privileges: given }
}

/**
 * Returns the exempt roles that need a grant of their own where PUBLIC loses a privilege on what a role owns: not those
 * that inherit from another one, or from the owner. The service revokes grants to login roles.
 */
export function createKeepers(
  roles: ReadonlyMap<string, Role>,
  exempt: readonly string[],
): (owner: string) => string[] {
  const inherited = (name: string) => {
    const found = new Set([name])
    for (const each of found) for (const role of roles.get(each)?.inherits ?? []) found.add(role)
    return found
  }
  const listKeepers = () => {
    const able = exempt.filter((name) => !roles.get(name)?.superuser && !hasLoginForm(name))
    const isAble = new Set(able)
    return able
      .map((name) => ({ name, from: inherited(name) }))
      .filter(({ name, from }) => ![...from].some((one) => one !== name && isAble.has(one)))
  }
  let known: ReturnType<typeof listKeepers> | undefined
  return (owner) => {
    known ??= listKeepers()
    return known.filter(({ from }) => !from.has(owner)).map(({ name }) => name)
  }
}

export function quoteGrantee(grantee: string | null): string {
  return grantee === null ? 'PUBLIC' : quoteIdentifier(grantee)
}
