import type { Finding, MaskOwner, Preflight } from '../contracts/preflight.ts'
import { quoteIdentifier } from '../db/quote.ts'
import type { Sql } from '../db/sql.ts'
import { hasLoginForm } from '../masks/names.ts'
import type { Target } from '../masks/policy.ts'
import { writeRelease } from '../masks/read/claim.ts'
import { findGuard, readHeader } from '../masks/read/guard.ts'

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
  const fault =
    'shows samples of hidden columns in its statistics (CVE-2025-8713 and earlier), so masks would not hold'
  const message = `PostgreSQL ${major}.${minor} ${fault}. Install ${install} or later.`
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
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as "versionNumber",
      current_database()::text as database, r.rolname::text as "user", r.rolsuper as superuser,
      r.rolcreaterole as "createRole",
      pg_catalog.has_database_privilege(current_database(), 'CREATE') as "createsInDatabase",
      pg_catalog.pg_has_role('pg_signal_backend', 'USAGE') as signals
    from pg_catalog.pg_roles r where r.rolname = current_user`
  if (!facts) throw new Error('the server did not answer')
  const { version, superuser } = facts
  const refusals = checkVersion(facts.versionNumber)
  const owner = await findMaskOwner(sql)
  if (superuser) return { version, refusals, warnings: [], owner }
  const ownership = await checkOwners(sql, facts, tables)
  const closed = await checkSchemas(sql, facts.user, tables)
  return {
    version,
    refusals: [...refusals, ...findMissingRights(facts), ...ownership.refusals, ...closed],
    warnings: [...ownership.warnings, ...findLimits(facts)],
    owner,
  }
}

/** What it takes to make schemas for twins, and roles that own them: one for each owner of tables. */
function findMissingRights({ createRole, createsInDatabase, database, user }: Facts): Finding[] {
  const role = quoteIdentifier(user)
  const noTwinOwner: Finding = {
    code: 'NoTwinOwner',
    message: 'The role of the binding cannot create the roles that are to own the masked twins.',
    statements: [`ALTER ROLE ${role} CREATEROLE`],
  }
  const noCreate: Finding = {
    code: 'NoCreate',
    message: 'The role of the binding cannot create the schemas that twins stand in.',
    statements: [`GRANT CREATE ON DATABASE ${quoteIdentifier(database)} TO ${role}`],
  }
  return [...(createRole ? [] : [noTwinOwner]), ...(createsInDatabase ? [] : [noCreate])]
}

/** What goes on without. */
function findLimits({ signals, user }: Facts): Finding[] {
  if (signals) return []
  const message =
    'The role of the binding cannot end sessions of others: a role whose exemption ends keeps rows of open cursors.'
  return [
    {
      ...{ code: 'CannotEndSessions', message },
      statements: [`GRANT pg_signal_backend TO ${quoteIdentifier(user)}`],
    },
  ]
}

async function findMaskOwner(sql: Sql): Promise<MaskOwner | null> {
  const schema = await findGuard(sql)
  const guard = schema === null ? null : await readHeader(sql, schema)
  if (schema === null || !guard?.owner || !guard.madeHere) return null
  const message = [
    'The database is masked by a resource that this service does not have.',
    'If no other service keeps these masks, they can be taken over.',
  ].join(' ')
  return {
    id: guard.owner,
    unknown: { code: 'MaskedElsewhere', message, statements: [writeRelease(schema)] },
  }
}

/** Tables of one owner. `named`: rules name them. */
interface Owned {
  readonly owner: string
  readonly isOfSuperuser: boolean
  readonly tables: readonly string[]
  readonly named: boolean
  readonly ours: boolean
}

/** A table is masked by its owner, or by a member of it. */
async function checkOwners(sql: Sql, { user }: Facts, tables: readonly Target[]) {
  const rows = await sql<Owned[]>`
    select o.rolname::text as owner, o.rolsuper as "isOfSuperuser",
      pg_catalog.pg_has_role(o.oid, 'MEMBER') as ours,
      array_agg(format('%I.%I', n.nspname, c.relname) order by n.nspname, c.relname) as tables, t.s is not null as named
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner
    left join unnest(${tables.map(({ schema }) => schema)}::text[],
      ${tables.map(({ table }) => table)}::text[]) as t(s, r) on t.s = n.nspname and t.r = c.relname
    where c.relkind in ('r', 'p', 'f') and c.relpersistence <> 't' and n.nspname !~ '^(pg_|information_schema$)'
    group by 1, 2, 3, 5 order by 1, 5`
  const strange = rows.filter(({ ours }) => !ours)
  // A member of a superuser can do all that it can.
  const describe = ({ owner, isOfSuperuser, tables: names }: Owned): Finding => ({
    code: 'NotOwner',
    message: [
      `The role of the binding is not a member of ${quoteIdentifier(owner)}, which owns ${list(names)}:`,
      'it cannot mask what that role owns.',
    ].join(' '),
    statements:
      isOfSuperuser || hasLoginForm(owner)
        ? names.slice(0, mostNames).map((name) => `ALTER TABLE ${name} OWNER TO ${quoteIdentifier(user)}`)
        : [`GRANT ${quoteIdentifier(owner)} TO ${quoteIdentifier(user)}`],
  })
  const isBlocking = ({ named }: Owned) => named || (tables.length === 0 && strange.length === rows.length)
  return {
    refusals: strange.filter(isBlocking).map(describe),
    warnings: strange.filter((one) => !isBlocking(one)).map(describe),
  }
}

/** Owners of twins read tables in schemas that not every role may use: the role of the binding lets them in. */
async function checkSchemas(sql: Sql, user: string, tables: readonly Target[]): Promise<Finding[]> {
  const rows = await sql<{ schema: string }[]>`
    select distinct n.nspname::text as schema
    from unnest(${tables.map(({ schema }) => schema)}::text[]) as t(s) join pg_catalog.pg_namespace n on n.nspname = t.s
    where not pg_catalog.has_schema_privilege('public', n.oid, 'USAGE')
      and not pg_catalog.has_schema_privilege(n.oid, 'USAGE WITH GRANT OPTION')
    order by 1`
  return rows.map(({ schema }) => ({
    code: 'ClosedSchema',
    message: `The role of the binding cannot let the owner of the twins into the schema ${quoteIdentifier(schema)}.`,
    statements: [
      `GRANT USAGE ON SCHEMA ${quoteIdentifier(schema)} TO ${quoteIdentifier(user)} WITH GRANT OPTION`,
    ],
  }))
}

function list(names: readonly string[]): string {
  const more = names.length - mostNames
  return more > 0 ? `${names.slice(0, mostNames).join(', ')} and ${more} more` : names.join(', ')
}
