import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { TwinRole } from '../catalog.ts'
import { nameAttempts } from '../names.ts'
import { joinTwinOwner, prepareTwinOwner } from '../notes.ts'
import type { Target } from '../policy.ts'
import { assignTwinOwners } from '../twins/assign-twin-owners.ts'
import { chooseTwinOwner, isRevocable, type TwinOwnerFacts } from '../twins/choose-twin-owner.ts'
import { lookAtTwinRoles } from '../twins/recognise-twin-roles.ts'
import type { Finding } from './finding.ts'

/** Tables of one owner. `named`: rules name them. */
export interface Owned {
  readonly owner: string
  readonly oid: number
  readonly isOfSuperuser: boolean
  readonly tables: readonly string[]
  readonly named: boolean
  readonly ours: boolean
}

/**
 * Twins belong to roles that the role of the binding has to be able to act as, and that look into the schemas of the tables.
 * `named`: the tables that rules name, by owner.
 */
export async function checkTwinOwners(
  sql: Sql,
  facts: TwinOwnerFacts,
  named: readonly Owned[],
  tables: readonly Target[],
): Promise<Record<'refusals' | 'warnings' | 'closedSchemas', Finding[]>> {
  const { version, user } = facts
  const twinRoles = await lookAtTwinRoles(sql, facts)
  const roles = new Map(
    named.map(({ owner, oid, isOfSuperuser }) => [owner, { oid, superuser: isOfSuperuser }]),
  )
  const read = named.filter(({ ours }) => ours).flatMap((one) => one.tables.map(() => one))
  const held = new Set(read.map(({ owner }) => owner))
  const owners = assignTwinOwners({ ...facts, roles, twinRoles, guardedOwners: [] }, read, held)
  const home = chooseTwinOwner(facts, twinRoles).name
  const without = named.filter((one) => one.ours && owners.of(one) === null)
  return {
    refusals: await checkHome(sql, facts, home, twinRoles),
    warnings: without.map(({ owner, oid, tables: names }) => {
      const { name } = chooseTwinOwner(facts, twinRoles, oid)
      return {
        code: 'NoTwinOwner',
        message: `The role of the binding cannot create ${quoteIdentifier(name)}, which is to own the masked twins of what ${quoteIdentifier(owner)} owns: masked roles would be denied ${names.length === 1 ? names[0] : `${names.length} tables`} altogether.`,
        statements: prepareTwinOwner(name, user, version),
      }
    }),
    closedSchemas: await checkSchemas(
      sql,
      user,
      tables,
      named.map((one) => ({ oid: one.oid, reader: owners.of(one)?.name ?? home })),
      home,
    ),
  }
}

async function checkHome(
  sql: Sql,
  facts: TwinOwnerFacts,
  name: string,
  twinRoles: readonly TwinRole[],
): Promise<Finding[]> {
  const { version, user, createsRoles } = facts
  const twins = quoteIdentifier(name)
  const [row] = await sql<{ usable: boolean }[]>`
    select pg_catalog.pg_has_role(oid, ${version >= 160000 ? 'SET' : 'MEMBER'}) as usable
    from pg_catalog.pg_roles where rolname = ${name}`
  if (row ? row.usable : createsRoles) return []
  return [
    {
      code: 'NoTwinOwner',
      message: row
        ? `The role of the binding cannot act as ${twins}, which owns the masked twins. If you did not create that role, drop it first.`
        : `The role of the binding cannot create ${twins}, which is to own the masked twins.${describeUnused(facts, twinRoles)}`,
      statements: row ? [joinTwinOwner(name, user, version)] : prepareTwinOwner(name, user, version),
    },
  ]
}

/** Roles that were prepared, by whichever role, and would let another one read masked tables. */
function describeUnused(facts: TwinOwnerFacts, twinRoles: readonly TwinRole[]): string {
  const wanted = new Set(nameAttempts(facts.database))
  const offered = twinRoles.filter(
    ({ name, members }) => wanted.has(name) && members.some(({ member }) => member === facts.user),
  )
  return offered
    .map(({ name, members, isBare }) => {
      const intruder = members.find((one) => one.member !== facts.user && !isRevocable(one, facts))
      const right = intruder?.mayAct ? 'can act as' : 'can give itself'
      const twins = quoteIdentifier(name)
      if (intruder) return ` ${quoteIdentifier(intruder.member)} ${right} ${twins}, so that role is not used.`
      return isBare ? '' : ` ${twins} owns functions or relations, so that role is not used.`
    })
    .join('')
}

async function checkSchemas(
  sql: Sql,
  user: string,
  tables: readonly Target[],
  readers: readonly { readonly oid: number; readonly reader: string }[],
  home: string,
): Promise<Finding[]> {
  const rows = await sql<{ schema: string }[]>`
    select distinct n.nspname::text as schema
    from unnest(${tables.map(({ schema }) => schema)}::text[], ${tables.map(({ table }) => table)}::text[]) as t(s, r)
    join pg_catalog.pg_namespace n on n.nspname = t.s
    left join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
    left join unnest(${readers.map(({ oid }) => oid)}::int8[]::oid[], ${readers.map(({ reader }) => reader)}::text[])
      as o(owner, reader) on o.owner = c.relowner
    where not pg_catalog.has_schema_privilege('public', n.oid, 'USAGE')
      and not pg_catalog.has_schema_privilege(n.oid, 'USAGE WITH GRANT OPTION')
      and not exists (select 1 from pg_catalog.pg_roles r where r.rolname = coalesce(o.reader, ${home})
        and pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE'))
    order by 1`
  return rows.map(({ schema }) => ({
    code: 'ClosedSchema',
    message: `The role of the binding cannot let the owner of the twins into the schema ${quoteIdentifier(schema)}.`,
    statements: [
      `GRANT USAGE ON SCHEMA ${quoteIdentifier(schema)} TO ${quoteIdentifier(user)} WITH GRANT OPTION`,
    ],
  }))
}
