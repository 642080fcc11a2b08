import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { writeRelease } from '../guard/claim.ts'
import { findGuard } from '../guard/find-guard.ts'
import { readRecord } from '../guard/read-record.ts'
import type { Target } from '../policy.ts'
import { findTwinOwner } from '../twins/choose-twin-owner.ts'

/** Something about a database that keeps masks from holding, or from being complete, and what puts it right. */
export interface Finding {
  readonly code: string
  readonly message: string
  /** For a superuser to run, or for another role that may. */
  readonly statements: readonly string[]
}

export interface Preflight {
  readonly version: string
  /** Masks could not hold. */
  readonly refusals: readonly Finding[]
  readonly warnings: readonly Finding[]
  /** The resource that the masks belong to; null: none. */
  readonly owner: MaskOwner | null
}

interface MaskOwner {
  readonly id: string
  /** The finding where the service does not have that resource. */
  readonly unknown: Finding
}

/** The first releases in which statistics do not show samples of what a reader may not read. */
const firstFixed: Readonly<Record<number, string>> = {
  13: '13.22',
  14: '14.19',
  15: '15.14',
  16: '16.10',
  17: '17.6',
}

const mostNames = 20

export function checkVersion(versionNumber: number): Finding[] {
  const major = Math.floor(versionNumber / 10_000)
  const minor = versionNumber % 10_000
  const least = firstFixed[major]
  if (major >= 18 || (least && minor >= Number(least.split('.')[1]))) return []
  const install = least ?? '13.22, 14.19, 15.14, 16.10, 17.6 or 18'
  const message = `PostgreSQL ${major}.${minor} shows samples of hidden columns in its statistics (CVE-2025-8713 and earlier), so masks would not hold. Install ${install} or later.`
  return [{ code: 'ServerTooOld', message, statements: [] }]
}

interface Facts {
  readonly version: string
  readonly versionNumber: number
  readonly database: string
  readonly user: string
  readonly superuser: boolean
  readonly createRole: boolean
  readonly createsInDatabase: boolean
  readonly signals: boolean
}

/** Compares the rights that the role of a binding needs with those it has. Tables: those that rules name. */
export async function examine(sql: Sql, tables: readonly Target[]): Promise<Preflight> {
  const [facts] = await sql<Facts[]>`
    select current_setting('server_version') as version, current_setting('server_version_num')::int as "versionNumber",
      current_database()::text as database, r.rolname::text as "user", r.rolsuper as superuser,
      r.rolcreaterole as "createRole",
      pg_catalog.has_database_privilege(current_database(), 'CREATE') as "createsInDatabase",
      pg_catalog.pg_has_role('pg_signal_backend', 'USAGE') as signals
    from pg_catalog.pg_roles r where r.rolname = current_user`
  if (!facts) throw new Error('the server did not answer')
  const tooOld = checkVersion(facts.versionNumber)
  const owner = await findMaskOwner(sql)
  if (facts.superuser)
    return { version: facts.version, refusals: tooOld, warnings: await checkRowSecurity(sql, tables), owner }
  const ownership = await checkOwners(sql, facts, tables)
  const twinOwner = await findTwinOwner(sql)
  return {
    version: facts.version,
    refusals: [
      ...tooOld,
      ...(await checkTwinOwner(sql, facts, twinOwner)),
      ...checkDatabase(facts),
      ...ownership.refusals,
      ...(await checkSchemas(sql, facts, tables, twinOwner)),
    ],
    warnings: [
      ...ownership.warnings,
      ...checkSignals(facts),
      ...watchless,
      ...(await checkRowSecurity(sql, tables)),
    ],
    owner,
  }
}

async function findMaskOwner(sql: Sql): Promise<MaskOwner | null> {
  const schema = await findGuard(sql)
  const guard = await readRecord(sql, schema)
  if (schema === null || !guard?.owner || !guard.madeHere) return null
  const message =
    'The database is masked by a resource that this service does not have. If no other service keeps these masks, they can be taken over.'
  return {
    id: guard.owner,
    unknown: { code: 'MaskedElsewhere', message, statements: [writeRelease(schema)] },
  }
}

/** Twins belong to a role of their own, which we have to be able to act as. */
async function checkTwinOwner(sql: Sql, facts: Facts, name: string): Promise<Finding[]> {
  const twins = quoteIdentifier(name)
  const member = facts.versionNumber >= 160000 ? 'SET' : 'MEMBER'
  const [row] = await sql<{ usable: boolean }[]>`
    select pg_catalog.pg_has_role(oid, ${member}) as usable from pg_catalog.pg_roles where rolname = ${name}`
  if (row ? row.usable : facts.createRole) return []
  const option = facts.versionNumber >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''
  const join = `GRANT ${twins} TO ${quoteIdentifier(facts.user)}${option}`
  return [
    {
      code: 'NoTwinOwner',
      message: row
        ? `The role of the binding cannot act as ${twins}, which owns the masked twins.`
        : `The role of the binding cannot create ${twins}, which is to own the masked twins.`,
      statements: row ? [join] : [`CREATE ROLE ${twins} NOLOGIN`, join],
    },
  ]
}

function checkDatabase({ createsInDatabase, database, user }: Facts): Finding[] {
  if (createsInDatabase) return []
  return [
    {
      code: 'NoCreate',
      message: 'The role of the binding cannot create the schemas that twins stand in.',
      statements: [`GRANT CREATE ON DATABASE ${quoteIdentifier(database)} TO ${quoteIdentifier(user)}`],
    },
  ]
}

interface Owned {
  readonly owner: string
  readonly tables: readonly string[]
  readonly named: boolean
  readonly ours: boolean
}

/** A table is masked by its owner, or by a member of it. */
async function checkOwners(sql: Sql, { user }: Facts, tables: readonly Target[]) {
  const rows = await sql<Owned[]>`
    select o.rolname::text as owner, pg_catalog.pg_has_role(o.oid, 'MEMBER') as ours,
      array_agg(format('%I.%I', n.nspname, c.relname) order by 1) as tables, t.s is not null as named
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner
    left join unnest(${tables.map(({ schema }) => schema)}::text[], ${tables.map(({ table }) => table)}::text[]) as t(s, r)
      on t.s = n.nspname and t.r = c.relname
    where c.relkind in ('r', 'p', 'f') and c.relpersistence <> 't' and n.nspname !~ '^(pg_|information_schema$)'
    group by 1, 2, 4, o.oid order by 1, 4`
  const strange = rows.filter(({ ours }) => !ours)
  const describe = ({ owner, tables: names }: Owned): Finding => ({
    code: 'NotOwner',
    message: `The role of the binding is not a member of ${quoteIdentifier(owner)}, which owns ${list(names)}: it cannot mask what that role owns.`,
    statements: [`GRANT ${quoteIdentifier(owner)} TO ${quoteIdentifier(user)}`],
  })
  const isBlocking = ({ named }: Owned) => named || (tables.length === 0 && strange.length === rows.length)
  return {
    refusals: strange.filter(isBlocking).map(describe),
    warnings: strange.filter((one) => !isBlocking(one)).map(describe),
  }
}

/** The owner of the twins looks into the schemas of the tables. */
async function checkSchemas(
  sql: Sql,
  facts: Facts,
  tables: readonly Target[],
  twinOwner: string,
): Promise<Finding[]> {
  const rows = await sql<{ schema: string }[]>`
    select n.nspname::text as schema from pg_catalog.pg_namespace n
    where n.nspname = any(${tables.map(({ schema }) => schema)}::text[])
      and not pg_catalog.has_schema_privilege('public', n.oid, 'USAGE')
      and not pg_catalog.has_schema_privilege(n.oid, 'USAGE WITH GRANT OPTION')
      and not exists (select 1 from pg_catalog.pg_roles r where r.rolname = ${twinOwner}
        and pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE'))
    order by 1`
  return rows.map(({ schema }) => ({
    code: 'ClosedSchema',
    message: `The role of the binding cannot let the owner of the twins into the schema ${quoteIdentifier(schema)}.`,
    statements: [
      `GRANT USAGE ON SCHEMA ${quoteIdentifier(schema)} TO ${quoteIdentifier(facts.user)} WITH GRANT OPTION`,
    ],
  }))
}

function checkSignals({ signals, user }: Facts): Finding[] {
  if (signals) return []
  return [
    {
      code: 'CannotEndSessions',
      message:
        'The role of the binding cannot end sessions of others: a role whose exemption ends keeps the rows of an open cursor.',
      statements: [`GRANT pg_signal_backend TO ${quoteIdentifier(user)}`],
    },
  ]
}

const watchless: readonly Finding[] = [
  {
    code: 'NoEventTrigger',
    message:
      'Only a superuser can have the database tell of changes at once: drift is found by the periodic audit (MASQUERADE_AUDIT_SECONDS).',
    statements: [],
  },
]

interface Secured {
  readonly schema: string
  readonly table: string
  readonly policies: readonly string[]
}

/** A twin reads its table as its owner, for whom policies of certain roles do not count. */
async function checkRowSecurity(sql: Sql, tables: readonly Target[]): Promise<Finding[]> {
  const rows = await sql<Secured[]>`
    select n.nspname::text as schema, c.relname::text as "table", array_agg(p.polname::text order by 1) as policies
    from pg_catalog.pg_policy p
    join pg_catalog.pg_class c on c.oid = p.polrelid and c.relrowsecurity
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where p.polpermissive and p.polcmd in ('r', '*') and 0 <> all(p.polroles) and (${tables.length === 0}
      or (n.nspname, c.relname) in (select * from unnest(${tables.map(({ schema }) => schema)}::text[],
        ${tables.map(({ table }) => table)}::text[])))
    group by 1, 2 order by 1, 2 limit ${mostNames}`
  return rows.map(({ schema, table, policies }) => ({
    code: 'RowPolicies',
    message: `${quoteQualified(schema, table)} has row policies for certain roles (${policies.map(quoteIdentifier).join(', ')}). Masked, it shows these roles no rows through such a policy; the exposures of the database have the statement that changes it.`,
    statements: [],
  }))
}

function list(names: readonly string[]): string {
  const more = names.length - mostNames
  return more > 0 ? `${names.slice(0, mostNames).join(', ')} and ${more} more` : names.join(', ')
}

/** One line for a reason: what is wrong, and what to run. */
export function describeFinding({ message, statements }: Finding): string {
  return statements.length === 0 ? message : `${message} Run: ${statements.join('; ')};`
}
