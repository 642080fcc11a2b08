import { quoteIdentifier } from '../../db/quote.ts'
import type { Oid, Privilege, PrivilegeKind, Relation, Statement } from '../model.ts'
import type { AclChange } from './grants.ts'

/** What grants are written on, and by whom. */
export interface GrantTarget {
  /** Quoted: `public.people`. */
  readonly on: string
  /** Names of columns by number. */
  readonly columns: ReadonlyMap<number, string>
  readonly as?: string
  readonly why: string
}

export interface RoleNames {
  readonly version: number
  readonly roleNames: ReadonlyMap<Oid, string>
}

/** `[0, 16411]` → `['PUBLIC', '"ann"']`, without roles that were dropped. */
export const nameRoles = ({ roleNames }: Pick<RoleNames, 'roleNames'>, oids: readonly Oid[]): string[] =>
  oids.flatMap((oid) => {
    const name = roleNames.get(oid)
    return oid === 0 ? ['PUBLIC'] : name === undefined ? [] : [quoteIdentifier(name)]
  })

/** Names of columns by number. */
export const namesOf = ({ columns }: Relation) => new Map(columns.map(({ number, name }) => [number, name]))

/** The role that a statement about the relation runs as, where the binding is no member that inherits. */
export const actAs = ({ acting, ownerName }: Relation) => (acting === 'as owner' ? { as: ownerName } : {})

/** `[{SELECT, ann, column 1}, {SELECT, ann, column 2}]` → `GRANT SELECT (id, name) ON public.people TO ann`. */
export function changeAcl(
  { version, roleNames }: RoleNames,
  target: GrantTarget,
  change: AclChange,
): Statement[] {
  const { on, why, as } = target
  const name = (oids: readonly Oid[]) => nameRoles({ roleNames }, oids)
  const write = (sql: string): Statement => ({ sql, why, ...(as !== undefined && { as }) })
  const revoked = name(change.revoked)
  const kinds = kindsOf(version).join(', ')
  const passedOn = change.passedOn.map((one) => ({ ...one, grantee: one.grantor, grantable: true }))
  return [
    // With the option on the column as well, CASCADE takes it along.
    ...groupGrants(passedOn, target.columns).flatMap(({ privileges, grantees }) =>
      name(grantees).map((role) => write(`GRANT ${privileges} ON ${on} TO ${role} WITH GRANT OPTION`)),
    ),
    ...(revoked.length > 0 ? [write(`REVOKE ${kinds} ON ${on} FROM ${revoked.join(', ')} CASCADE`)] : []),
    ...groupGrants(change.granted, target.columns).flatMap(({ privileges, grantees, grantable }) => {
      const names = name(grantees)
      const option = grantable ? ' WITH GRANT OPTION' : ''
      return names.length > 0 ? [write(`GRANT ${privileges} ON ${on} TO ${names.join(', ')}${option}`)] : []
    }),
  ]
}

export const kindsOf = (version: number): readonly PrivilegeKind[] =>
  version >= 170000 ? ['SELECT', 'TRIGGER', 'REFERENCES', 'MAINTAIN'] : ['SELECT', 'TRIGGER', 'REFERENCES']

interface GrantGroup {
  readonly privileges: string
  readonly grantable: boolean
  readonly grantees: Oid[]
}

/** Roles that get the same privileges share a statement. */
function groupGrants(granted: readonly Privilege[], columns: ReadonlyMap<number, string>): GrantGroup[] {
  const groups = new Map<string, GrantGroup>()
  for (const [key, own] of Map.groupBy(granted, ({ grantee, grantable }) => `${grantee} ${grantable}`)) {
    const privileges = [...Map.groupBy(own, ({ kind }) => kind)]
      .flatMap(([kind, list]) => writeKind(kind, list, columns))
      .join(', ')
    const grantable = key.endsWith('true')
    const group = groups.get(`${privileges} ${grantable}`) ?? { privileges, grantable, grantees: [] }
    group.grantees.push(own[0]?.grantee ?? 0)
    groups.set(`${privileges} ${grantable}`, group)
  }
  return [...groups.values()].filter(({ privileges }) => privileges !== '')
}

function writeKind(
  kind: PrivilegeKind,
  list: readonly Privilege[],
  columns: ReadonlyMap<number, string>,
): string[] {
  const whole = list.some(({ column }) => column === 0) ? [kind] : []
  const names = list.flatMap(({ column }) => columns.get(column) ?? []).map(quoteIdentifier)
  return names.length > 0 ? [...whole, `${kind} (${names.join(', ')})`] : whole
}
