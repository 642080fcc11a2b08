import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import { shadowPrefix } from '../names.ts'
import type { Step } from '../plan.ts'
import type { Departing, Departure } from './read-departure.ts'

/**
 * Owners of twins go with every privilege that they were given. Twins that objects of others read stay, with their owners.
 * `home`: the role that owns the schemas of the twins; it goes last. `known`: those that are ours by their mark. Of another one that owns
 * more than twins, only the schemas of twins go: it may be a role of an operator that got the name.
 */
export function dropTwinOwners(
  home: string,
  { hasKeptTwins, roles }: Departure,
  known: ReadonlySet<string>,
): Step[] {
  const ordered = [...roles.filter(({ role }) => role !== home), ...roles.filter(({ role }) => role === home)]
  return [
    ...ordered.flatMap(({ role, ownsOthers, schemas }) => {
      const owned =
        ownsOthers && !known.has(role)
          ? schemas.map((schema) => `DROP SCHEMA ${schema}`)
          : [`DROP OWNED BY ${quoteIdentifier(role)}`]
      return owned.map((sql) => ({
        sql,
        why: 'its schemas and privileges',
        as: role,
        orElse: { sql: 'SELECT 1', why: 'objects of others read a twin' },
      }))
    }),
    ...ordered.flatMap((one) => (hasKeptTwins ? [] : close(one))),
    // A role that an operator prepared is theirs to drop.
    ...ordered.map(({ role }) => ({
      sql: `DROP ROLE ${quoteIdentifier(role)}`,
      why: 'it has nothing to own',
      orElse: { sql: 'SELECT 1', why: 'it stays' },
    })),
  ]
}

/**
 * Owners of twins whose tables are another role's now, or have no mask any more. One that owns more twins than those of the
 * plan, which get another owner or go, stays: objects of others read them.
 */
export function dropIdleOwners(
  home: string,
  { roles }: Departure,
  twins: readonly { readonly owner: string }[],
  known: ReadonlySet<string>,
): Step[] {
  const countTwins = (role: string) => twins.filter(({ owner }) => owner === role).length
  return roles
    .filter((one) => one.isHere && one.twins <= countTwins(one.role))
    .flatMap((one): Step[] => [
      ...one.makesIn.map((schema) => ({
        sql: `REVOKE ALL ON SCHEMA ${schema} FROM ${quoteIdentifier(one.role)}`,
        why: 'it makes no twins any more',
        as: home,
      })),
      ...dropTwinOwners(home, { hasKeptTwins: false, roles: [one] }, known),
    ])
}

function close({ role, opened, read }: Departing): Step[] {
  const owners = Map.groupBy(read, ({ owner }) => owner)
  return [
    ...revokeEach(role, opened),
    ...[...owners].flatMap(([owner, relations]) =>
      revokeEach(
        role,
        relations.map(({ name }) => name),
        owner,
      ),
    ),
  ]
}

/**
 * By one statement, as each costs a round trip. What another role gave stays, and keeps nothing else from being revoked. A role that still
 * owns a twin, because objects of others read it, needs all of it.
 */
function revokeEach(role: string, places: readonly string[], as?: string): Step[] {
  if (places.length === 0) return []
  const body = `DECLARE place text; BEGIN
    IF EXISTS (SELECT FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE r.rolname = ${quoteLiteral(role)} AND starts_with(n.nspname, ${quoteLiteral(shadowPrefix)})) THEN RETURN; END IF;
    FOREACH place IN ARRAY ARRAY[${places.map(quoteLiteral).join(', ')}]::text[] LOOP
      BEGIN EXECUTE 'REVOKE ALL ON ' || place || ${quoteLiteral(` FROM ${quoteIdentifier(role)}`)};
      EXCEPTION WHEN OTHERS THEN NULL; END;
    END LOOP; END`
  return [
    {
      sql: `DO ${quoteLiteral(body)}`,
      why: 'no twin reads there any more',
      ...(as === undefined ? {} : { as }),
      orElse: { sql: 'SELECT 1', why: 'another role gave it' },
    },
  ]
}
