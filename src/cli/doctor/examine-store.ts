import { openSecretRing } from '../../auth/secret-ring.ts'
import { countSigningKeys } from '../../auth/signing-keys.ts'
import { findOpenStore } from '../../db/close-store.ts'
import { type Database, openDatabase } from '../../db/database.ts'
import { listPending } from '../../db/migrate.ts'
import {
  findAdministratorRole,
  listEnabledPrincipals,
} from '../../directory/rights/remaining-administrators.ts'
import { countOf } from '../../kernel/count-of.ts'
import { nameState } from '../../kernel/enforcement-state.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { listStates } from '../../masking/states/list-states.ts'
import type { Settings } from '../../settings.ts'
import { startCommand } from '../invocation.ts'
import { addressOf, readTenant } from '../operator.ts'
import { requireOwnDirectory } from '../own-directory.ts'
import { quoteArgument } from '../quote-argument.ts'
import { showText } from '../table.ts'
import { type Finding, ok, problem, skipped, warning } from './finding.ts'

const laterChecks = ['migrations', 'clock', 'signing keys', 'administrators', 'bound databases']

/** The service's own database, and what stands in it. */
export async function examineStore(
  settings: Settings,
  isWanted: (id: string) => boolean,
): Promise<Finding[]> {
  const refusal = await requireOwnDirectory(settings.dataDir).catch((error: unknown) => error)
  if (refusal instanceof OperatorError)
    return withoutStore(
      refusal.message,
      'set MASQUERADE_DATA_DIR to the one of the service',
      'The data directory is not believed.',
    )
  let database: Database | undefined
  try {
    database = openDatabase({ url: addressOf(settings), poolSize: 1 })
    const tenantId = await readTenant(database, settings)
    const migrations = await examineMigrations(database)
    const known = [await examineAccess(database), migrations]
    // Every later check would ask for tables and columns of this version.
    if (migrations.state === 'problem')
      return [
        ...known,
        ...laterChecks.slice(1).map((check) => skipped(check, 'The tables are of another version.')),
      ]
    return [
      ...known,
      await examineClock(database),
      await examineKeys(database, settings),
      await examineAdministrators(database, tenantId),
      ...(await examineDatabases(database, isWanted)),
    ]
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    const isOwn = settings.databaseUrl === undefined
    const fix = isOwn ? startCommand : 'check MASQUERADE_DATABASE_URL and the server that it names'
    const isSilent = isOwn && error.cause !== undefined
    const words = isSilent ? 'It does not answer: the service does not run, or it hangs.' : error.message
    return withoutStore(words, fix, 'The database of the service does not answer.')
  } finally {
    await database?.close()
  }
}

function withoutStore(message: string, fix: string, reason: string): Finding[] {
  return [
    problem('database of the service', message, fix),
    ...laterChecks.map((check) => skipped(check, reason)),
  ]
}

/** A role of the same server that connects reads nothing, but it can hold locks of the service. */
async function examineAccess({ sql }: Database): Promise<Finding> {
  const check = 'database of the service'
  const statement = await findOpenStore(sql)
  return statement === undefined
    ? ok(check, 'It answers.')
    : warning(check, 'It answers, and every role of its server may connect to it.', `psql -c '${statement}'`)
}

async function examineMigrations({ sql }: Database): Promise<Finding> {
  const check = 'migrations'
  try {
    const pending = await listPending(sql)
    if (pending.length === 0) return ok(check, 'The tables are those of this version.')
    return problem(
      check,
      `${pending.length} are missing: the database is of an older version.`,
      'masquerade migrate',
    )
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return problem(check, error.message, 'run the version of the service that the database is of')
  }
}

const mostSecondsApart = 60

/** Tokens and codes live for minutes: a clock that is off makes them expire early, or not yet valid. */
async function examineClock({ sql }: Database): Promise<Finding> {
  const before = Date.now()
  const [row] = await sql<{ now: Date }[]>`select clock_timestamp() as now`
  const here = (before + Date.now()) / 2
  const apart = Math.abs((row?.now.getTime() ?? here) - here) / 1000
  if (apart <= mostSecondsApart) return ok('clock', 'It agrees with that of the database.')
  const words = `It is ${Math.round(apart)} seconds off that of the database.`
  return problem('clock', words, 'timedatectl set-ntp true, on both machines')
}

async function examineKeys({ sql }: Database, settings: Settings): Promise<Finding> {
  const check = 'signing keys'
  try {
    const secretBox = await openSecretRing(sql, settings, true)
    const { valid, sealed } = await countSigningKeys(sql, secretBox)
    if (sealed > 0)
      return problem(
        check,
        `${sealed} of ${valid} were sealed with another secret key.`,
        "give this node the first node's secret.key; where it is lost: masquerade admin restore --replace-keys",
      )
    if (valid === 0)
      return problem(check, 'There is none: no token can be issued.', 'masquerade admin restore')
    return ok(check, valid === 1 ? 'One is valid.' : `${valid} are valid.`)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return skipped(check, 'The secret key cannot be read.')
  }
}

async function examineAdministrators({ sql }: Database, tenantId: string): Promise<Finding> {
  const check = 'administrators'
  const roles = await findAdministratorRole(sql, tenantId)
  const found = await listEnabledPrincipals(sql, tenantId, roles, ['user'], { limit: 100 })
  if (found.length === 0)
    return problem(check, 'No enabled user is a Global Administrator.', 'masquerade admin restore')
  if (found.length === 1)
    return warning(
      check,
      'Only one user is a Global Administrator.',
      "masquerade role assign 'Global Administrator' USER",
    )
  return ok(check, `${found.length} users are Global Administrators.`)
}

async function examineDatabases({ sql }: Database, isWanted: (id: string) => boolean): Promise<Finding[]> {
  const found = (await listStates(sql)).filter(({ id }) => isWanted(id))
  if (found.length === 0)
    return [warning('bound databases', 'None is bound: nothing is masked.', 'masquerade database bind')]
  return found.map(({ id, state, since, reason, notes }) => {
    const words = `${nameState(state)}${since === null ? '' : ` since ${since}`}${reason === null ? '' : `. ${showText(reason)}`}`
    const check = `masks of ${id}`
    const show = `masquerade policy show -d ${quoteArgument(id)}`
    if (state === 'Failed') return problem(check, words, show)
    if (state === 'Pending') return warning(check, words, show)
    if (state === 'Enforced' && notes > 0)
      return warning(check, `${words}. ${countOf(notes, 'note')} about it.`, show)
    if (state === 'Enforced') return ok(check, words)
    const next = state === 'NoRules' ? 'recommendations' : 'policy enable'
    return warning(check, words, `masquerade ${next} -d ${quoteArgument(id)}`)
  })
}
