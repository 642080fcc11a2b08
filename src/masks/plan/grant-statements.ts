import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Grant, Oid, Privilege, Relation, Snapshot, Statement } from '../model.ts'
import { isSameList, listGranted } from './grants.ts'
import type { Group } from './model.ts'

/** What grants are written on, and by whom. */
export interface GrantTarget {
  /** Quoted: `public.people`. */
  readonly on: string
  readonly owner: Oid
  /** Names of columns by number. */
  readonly columns: ReadonlyMap<number, string>
  readonly as?: string | undefined
  readonly why: string
}

export const formGroup = (
  key: Group['key'],
  target: string,
  open: readonly Statement[],
  more: Partial<Group> = {},
): Group => ({
  ...{ key, target, open, close: [], closeTwin: [], needs: [] },
  ...more,
})

type Roles = Pick<Snapshot, 'server' | 'roleNames'>

export const say = (why: string, ...texts: readonly string[]): Statement[] =>
  texts.map((sql) => ({ sql, why }))

/** `GRANT USAGE ON SCHEMA hr TO ann`; nothing for no role. */
export function writeGrant(
  verb: 'GRANT' | 'REVOKE',
  what: string,
  roles: readonly string[],
  why: string,
  end: '' | ' CASCADE' | ' WITH GRANT OPTION' = '',
): Statement[] {
  const word = verb === 'GRANT' ? 'TO' : 'FROM'
  return roles.length === 0 ? [] : say(why, `${verb} ${what} ${word} ${roles.join(', ')}${end}`)
}

/** `[0, 16411]` → `['PUBLIC', '"ann"']`, without roles that were dropped. */
export const nameRoles = ({ roleNames }: Pick<Roles, 'roleNames'>, oids: readonly Oid[]): string[] =>
  oids.flatMap((oid) => {
    const name = roleNames.get(oid)
    return oid === 0 ? ['PUBLIC'] : name === undefined ? [] : [quoteIdentifier(name)]
  })

/**
 * The role that a statement about the relation runs as. Also where the binding may not be that role: by itself, it
 * would get a warning alone for what it revokes from a role that it inherits from, before PostgreSQL 16.
 */
export const actorOf = ({ acting, ownerName }: Relation) => (acting === 'directly' ? undefined : ownerName)

/** A relation, or a twin with its columns. */
export const targetOf = (relation: Relation, why: string): GrantTarget => ({
  on: quoteQualified(relation.schema, relation.name),
  owner: relation.owner,
  columns: new Map(relation.columns.map(({ number, name }) => [number, name])),
  as: actorOf(relation),
  why,
})

/** From one access list to another; nothing where they are the same. */
export const changeAcl = (
  roles: Roles,
  target: GrantTarget,
  acl: readonly Grant[],
  wanted: readonly Privilege[],
): Statement[] => (isSameList(listGranted(acl), wanted) ? [] : replaceAcl(roles, target, acl, wanted))

/**
 * All that is there goes, and all that is wanted comes, from the owner.
 * `[{SELECT, ann, column 1}, {SELECT, ann, column 2}]` → `GRANT SELECT (id, name) ON public.people TO ann`.
 */
export function replaceAcl(
  roles: Roles,
  { on, owner, columns, why, as }: GrantTarget,
  acl: readonly Grant[],
  wanted: readonly Privilege[],
): Statement[] {
  const revoked = nameRoles(roles, [...new Set(acl.map(({ grantee }) => grantee))])
  // No CASCADE reaches grants of columns by an option of the whole relation, unless their grantors have it on the
  // columns as well.
  const passedOn = acl
    .filter(({ column, grantor }) => column !== 0 && grantor !== owner)
    .map((one) => ({ ...one, grantee: one.grantor, grantable: true }))
  const kinds = `SELECT, TRIGGER, REFERENCES${roles.server.version >= 170000 ? ', MAINTAIN' : ''}`
  return [
    ...writeGrants(roles, on, columns, passedOn, why),
    ...writeGrant('REVOKE', `${kinds} ON ${on}`, revoked, why, ' CASCADE'),
    ...writeGrants(roles, on, columns, wanted, why),
  ].map((one) => ({ ...one, as }))
}

/** Roles that get the same privileges share a statement. */
function writeGrants(
  roles: Roles,
  on: string,
  columns: ReadonlyMap<number, string>,
  granted: readonly Privilege[],
  why: string,
): Statement[] {
  const byRole = Map.groupBy(granted, ({ grantee, grantable }) => `${grantee} ${grantable}`)
  const alike = Map.groupBy(byRole.values(), (own) => `${own[0]?.grantable} ${writeKinds(own, columns)}`)
  return [...alike.values()].flatMap((some) => {
    const [first = []] = some
    const privileges = writeKinds(first, columns)
    const grantees = some.flatMap(([one]) => one?.grantee ?? [])
    const option = first[0]?.grantable ? ' WITH GRANT OPTION' : ''
    const to = privileges === '' ? [] : nameRoles(roles, grantees)
    return writeGrant('GRANT', `${privileges} ON ${on}`, to, why, option)
  })
}

/** `SELECT (id, name), TRIGGER` */
function writeKinds(list: readonly Privilege[], columns: ReadonlyMap<number, string>): string {
  return [...Map.groupBy(list, ({ kind }) => kind)]
    .flatMap(([kind, own]) => {
      const names = own.flatMap(({ column }) => columns.get(column) ?? []).map(quoteIdentifier)
      return [
        ...(own.some(({ column }) => column === 0) ? [kind] : []),
        ...(names.length > 0 ? [`${kind} (${names.join(', ')})`] : []),
      ]
    })
    .join(', ')
}
