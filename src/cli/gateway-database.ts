import { OperatorError } from '../kernel/operator-error.ts'
import type { Settings } from '../settings.ts'
import { openOperatorAccess } from './operator.ts'

interface Bound {
  readonly server: string
  readonly name: string
}

/** The one that was named, or the only one there is, for whoever reads the data directory. */
export async function chooseDatabase(
  settings: Settings,
  isOwn: boolean,
  named: string | undefined,
): Promise<string> {
  if (named !== undefined) return named
  if (!isOwn) return refuse('Say which database: database, or server/database')
  const all = await listBound(settings)
  const [only, ...others] = all
  if (!only) return refuse("No database is bound yet: 'masquerade database bind' does it")
  if (others.length === 0) return `${only.server}/${only.name}`
  const choices = all.map(({ server, name }) => `  ${server}/${name}`)
  throw new OperatorError(`Say which database:\n${choices.join('\n')}`, { exitCode: 2 })
}

async function listBound(settings: Settings): Promise<readonly Bound[]> {
  await using access = await openOperatorAccess(settings)
  return await access.database.sql<Bound[]>`
    select server_name as server, name from masked_database
    where tenant_id = ${access.tenantId} and binding is not null
    order by lower(server_name), lower(name)`
}

function refuse(reason: string): never {
  throw new OperatorError(`${reason}. See 'masquerade help psql'.`, { exitCode: 2 })
}
