import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { writeRelease } from '../guard/claim.ts'
import { findGuard } from '../guard/find-guard.ts'
import { readRecord } from '../guard/read-record.ts'
import { hasLoginForm } from '../names.ts'
import type { Target } from '../policy.ts'
import { checkTwinOwners, type Owned } from './check-twin-owners.ts'
import type { Finding } from './finding.ts'

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
  const named = ownership.owned.filter((one) => one.named)
  const { versionNumber: serverVersion, createRole: createsRoles } = facts
  const twinFacts = { ...facts, version: serverVersion, createsRoles }
  const twinOwners = await checkTwinOwners(sql, twinFacts, named, tables)
  return {
    version: facts.version,
    refusals: [
      ...tooOld,
      ...twinOwners.refusals,
      ...checkDatabase(facts),
      ...ownership.refusals,
      ...twinOwners.closedSchemas,
    ],
    warnings: [
      ...ownership.warnings,
      ...twinOwners.warnings,
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

/** A table is masked by its owner, or by a member of it. */
async function checkOwners(sql: Sql, { user }: Facts, tables: readonly Target[]) {
  const rows = await sql<Owned[]>`
    select o.rolname::text as owner, o.oid::int8 as oid, o.rolsuper as "isOfSuperuser",
      pg_catalog.pg_has_role(o.oid, 'MEMBER') as ours,
      array_agg(format('%I.%I', n.nspname, c.relname) order by n.nspname, c.relname) as tables, t.s is not null as named
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner
    left join unnest(${tables.map(({ schema }) => schema)}::text[], ${tables.map(({ table }) => table)}::text[]) as t(s, r)
      on t.s = n.nspname and t.r = c.relname
    where c.relkind in ('r', 'p', 'f') and c.relpersistence <> 't' and n.nspname !~ '^(pg_|information_schema$)'
    group by 1, 2, 3, 4, 6 order by 1, 6`
  const strange = rows.filter(({ ours }) => !ours)
  // A member of a superuser can do all that it can.
  const describe = ({ owner, isOfSuperuser, tables: names }: Owned): Finding => ({
    code: 'NotOwner',
    message: `The role of the binding is not a member of ${quoteIdentifier(owner)}, which owns ${list(names)}: it cannot mask what that role owns.`,
    statements:
      isOfSuperuser || hasLoginForm(owner)
        ? names.slice(0, mostNames).map((name) => `ALTER TABLE ${name} OWNER TO ${quoteIdentifier(user)}`)
        : [`GRANT ${quoteIdentifier(owner)} TO ${quoteIdentifier(user)}`],
  })
  const isBlocking = ({ named }: Owned) => named || (tables.length === 0 && strange.length === rows.length)
  return {
    owned: rows,
    refusals: strange.filter(isBlocking).map(describe),
    warnings: strange.filter((one) => !isBlocking(one)).map(describe),
  }
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
