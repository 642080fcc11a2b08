import { quoteQualified } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import { sqlstateOf } from '../db/sqlstate.ts'
import type { Tx } from '../db/transaction.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import type { Grant, Relation, Remembered, Snapshot } from './catalog.ts'
import { selectExcess } from './grants/find-excess.ts'
import type { Desired, DesiredRelation, Step } from './plan.ts'
import type { Reading } from './read-relations.ts'
import { isMisled, type Misled, selectMisled } from './twins/select-misled.ts'

/**
 * Statements of a plan name relations, schemas and roles, and each statement sees what is committed by then. A role that owns two
 * schemas could exchange their names in between, so that a statement meant for one table changes another.
 */
export class NamesExchanged extends Error {
  readonly code = sqlstate.objectNotInPrerequisiteState
  /** The schemas of the relations, by oid. */
  readonly schemas: readonly number[]
  /** Nothing but twins is in the way: what they use by their text may stay so. */
  readonly isMisled: boolean

  constructor(found: readonly Changed[], misled: readonly Misled[]) {
    const isTold = (one: Misled) => isBelowDomain(one) || one.types !== null
    const told = misled
      .filter(isTold)
      .map((one) => (isBelowDomain(one) ? describeBelow(one) : describeTypes(one)))
    const others = misled.filter((one) => !isTold(one))
    const names = [...found.map(({ name }) => name), ...others.map(describeMisled)]
    const blamed = `other sessions renamed, replaced, overloaded or gave away ${names.slice(0, mostNamed).join(', ')}`
    const reasons = [...(names.length > 0 ? [blamed] : []), ...told.slice(0, mostNamed)]
    super(reasons.join('; '))
    this.schemas = [...new Set(found.flatMap(({ schema }) => schema ?? []))]
    this.isMisled = found.length === 0
  }
}

const mostNamed = 5

const isBelowDomain = ({ replaced }: Misled) => replaced !== null

function describeMisled({ name, used }: Misled): string {
  return `what the twin ${name} reads or calls${used === null ? '' : ` (it would use ${used})`}`
}

/** No session is to blame: the same text leads to another one, as masked columns have the type below their domain. */
function describeBelow({ name, used, replaced }: Misled): string {
  return `the twin ${name} would use ${used} where the view uses ${replaced}, as a masked column has the type below its domain: cast the column to that type in the view, or rename one of the two`
}

/** Which of the two causes it was is not known: an exchange of names for a moment, or a text that leads to another type for good. */
function describeTypes({ name, types }: Misled): string {
  return `the twin ${name} would have the type ${types?.[0]} where its view or row policy has ${types?.[1]}: if names were exchanged meanwhile, the next turn makes the twin; else leave that type out of the view or policy`
}

/** PostgreSQL's words for a name that leads nowhere by now, and for grants that were changed by another session. */
const raced: readonly string[] = [
  sqlstate.undefinedObject,
  sqlstate.undefinedTable,
  sqlstate.invalidSchemaName,
  sqlstate.internalError,
]

/** True when other sessions changed names or grants meanwhile. */
export function isRaced(error: unknown): boolean {
  return error instanceof NamesExchanged || raced.includes(sqlstateOf(error))
}

interface Changed {
  readonly name: string
  readonly schema: number | null
}

type Stamped = Pick<Relation, 'oid' | 'schema' | 'name' | 'stamp'>

/** What statements name. */
export interface Named {
  readonly relations: readonly Stamped[]
  readonly roles: readonly { readonly oid: number; readonly name: string }[]
  readonly schemas: readonly { readonly oid: number; readonly name: string }[]
  /** Relations whose twins were made. */
  readonly made: readonly DesiredRelation[]
}

type Plans = { readonly snapshot: Snapshot; readonly desired: Desired }

/** The part of a plan that is about some relations. */
export type Part = Pick<Desired, 'masked' | 'released'>

/** What a plan, or a part of it, names of its relations. A closing makes no twins. */
export function listNamed(
  { snapshot, desired }: Plans,
  mode: Reading['mode'],
  { masked, released }: Part = desired,
): Named {
  const relations = [...masked, ...released].flatMap(({ relation }) => relation ?? [])
  const roles = [
    ...relations.flatMap(listRoles),
    ...[...masked, ...released].flatMap(({ remembered }) => listAccessRoles(remembered)),
    ...masked.flatMap((one) => [...listAccessRoles(one), one.twin?.owner ?? '']),
  ]
  return {
    relations,
    roles: findRoles(snapshot, roles),
    schemas: [],
    made: mode === 'none' ? [] : masked.filter(({ twin, isHeld }) => twin && !isHeld),
  }
}

/**
 * The same after grants were changed by OIDs. A closing, which does nothing else, is judged by these alone: a role that renames roles or
 * schemas of its own all the time must not keep tables of others open. A twin names the relation and its owner, too.
 */
export function listNamedByOids(plans: Plans, mode: Reading['mode'], part: Part): Named {
  const named = listNamed(plans, mode, part)
  if (part.released.length > 0) return named
  if (mode === 'none') return { ...named, relations: [], roles: [] }
  const owners = part.masked.flatMap(({ relation, twin }) => [relation.owner, twin?.owner ?? ''])
  return { ...named, roles: findRoles(plans.snapshot, owners) }
}

/** The owners of twins. */
export function listTwinOwners({ snapshot, desired }: Plans): Named {
  return nameRoles(
    snapshot,
    desired.owners.map(({ name }) => name),
  )
}

export function listGuardReaders({ snapshot, desired }: Plans): Named {
  return nameRoles(snapshot, desired.guardReaders)
}

function nameRoles(snapshot: Snapshot, names: readonly string[]): Named {
  return { relations: [], roles: findRoles(snapshot, names), schemas: [], made: [] }
}

export function listAll(plans: Plans, mode: Reading['mode']): Named {
  const named = listNamed(plans, mode)
  const common = [listTwinOwners(plans), listGuardReaders(plans)].flatMap(({ roles }) => roles)
  return { ...named, roles: [...named.roles, ...common], schemas: plans.snapshot.closedSchemas }
}

function findRoles({ roles }: Snapshot, names: readonly string[]): Named['roles'] {
  return [...new Set(names)].flatMap((name) => roles.get(name) ?? [])
}

function listRoles({ owner, grants, columns, rights }: Relation): string[] {
  return [owner, ...listGrantRoles([...grants, ...columns.flatMap(({ acl }) => acl), ...rights])]
}

function listAccessRoles({ grants, columnGrants, rights }: Remembered): string[] {
  return listGrantRoles([...grants, ...columnGrants, ...rights])
}

function listGrantRoles(grants: readonly Grant[]): string[] {
  return grants.flatMap(({ grantor, grantee }) => (grantee === null ? [grantor] : [grantor, grantee]))
}

/**
 * Runs after the last statement that names something: what it named is still what was read, each twin reads what it is to read, and
 * roles have lost what the steps take from them. Rejects with `NamesExchanged`; the transaction is to be undone then.
 */
export async function requireSameNames(
  tx: Sql,
  named: Named,
  { snapshot, desired }: Plans,
  steps: readonly Step[] = [],
): Promise<void> {
  const changes = steps.flatMap(({ change }) => change ?? [])
  const excess = changes.length === 0 ? tx`` : tx`union all ${selectExcess(tx, changes, snapshot)}`
  const [found, differing] = await Promise.all([
    tx<Changed[]>`${selectMoved(tx, named.relations)} union all ${selectRenamed(tx, named)} ${excess}`,
    named.made.length === 0 ? [] : selectMisled(tx, named.made, snapshot, desired),
  ])
  const misled = differing.filter(isMisled)
  if (found.length + misled.length > 0) throw new NamesExchanged(found, misled)
}

/**
 * Relations that are gone, have other names or another owner, or whose schema was changed by another transaction. A version of the
 * schema's row that we see and whose transaction is under way is our own; its subtransactions have later numbers.
 */
function selectMoved(tx: Sql, relations: readonly Stamped[]) {
  const full = tx`((m.id >> 32 << 32) + n.xmin::text::int8)`
  return tx`
    select t.label as name, t.schema::int8 as schema from unnest(${relations.map(({ oid }) => oid)}::int8[]::oid[],
      ${relations.map(({ schema, name }) => quoteQualified(schema, name))}::text[],
      ${relations.map(({ schema }) => schema)}::text[], ${relations.map(({ name }) => name)}::text[],
      ${relations.map(({ stamp }) => stamp.schema)}::int8[]::oid[],
      ${relations.map(({ stamp }) => stamp.schemaVersion)}::text[],
      ${relations.map(({ stamp }) => stamp.owner)}::int8[]::oid[]
    ) as t(oid, label, schema_name, name, schema, version, owner)
    where not exists (
      select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace,
        (select pg_catalog.txid_current_if_assigned() as id) m
      where c.oid = t.oid and c.relname = t.name and c.relowner = t.owner and n.oid = t.schema and n.nspname = t.schema_name
        and case when n.xmin::text = t.version then true
          when ${full} >= m.id then pg_catalog.txid_status(${full}) = 'in progress' else false end)`
}

/** One that has its name back is judged by its grants (`selectExcess`). The plan itself drops some. */
function selectRenamed(tx: Sql, { roles, schemas }: Named) {
  return tx`
    select pg_catalog.format('role %I', t.name), null from unnest(${roles.map(({ oid }) => oid)}::int8[]::oid[],
      ${roles.map(({ name }) => name)}::text[]) as t(oid, name)
    where exists (select 1 from pg_catalog.pg_roles r where (r.oid = t.oid) <> (r.rolname = t.name))
    union all
    select pg_catalog.format('schema %I', t.name), t.oid::int8 from unnest(
      ${schemas.map(({ oid }) => oid)}::int8[]::oid[], ${schemas.map(({ name }) => name)}::text[]) as t(oid, name)
    where not exists (select 1 from pg_catalog.pg_namespace n where n.oid = t.oid and n.nspname = t.name)`
}

/** For sessions that change schemas; the next ones then wait for us. */
const holdMs = 300
const mostHoldMs = 900

/**
 * Keeps other sessions from renaming schemas until the end of the transaction. Those that none changes come first and at once: a session
 * that is changing one is waited for shortly, and releases no other.
 */
export async function holdSchemas(tx: Tx, schemas: readonly number[]): Promise<void> {
  const free = await tx<{ oid: number }[]>`
    select oid::int8 as oid from pg_catalog.pg_namespace where oid = any(${schemas}::int8[]::oid[]) for update skip locked`
  const held = new Set(free.map(({ oid }) => oid))
  const end = Date.now() + mostHoldMs
  for (const oid of schemas.filter((one) => !held.has(one))) if (Date.now() < end) await holdSchema(tx, oid)
}

async function holdSchema(tx: Tx, oid: number): Promise<void> {
  const hold = tx.savepoint(async () => {
    await tx`select set_config('lock_timeout', ${String(holdMs)}, true)`
    await tx`select from pg_catalog.pg_namespace where oid = ${oid}::int8::oid for update`
  })
  await hold.catch((error: unknown) => {
    if (sqlstateOf(error) !== sqlstate.lockNotAvailable) throw error
  })
}
