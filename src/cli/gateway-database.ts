import { OperatorError } from '../kernel/operator-error.ts'
import type { Settings } from '../settings.ts'

/** The database that was named. Without a name, the only one there is: that takes a readable data directory. */
export async function chooseDatabase(
  settings: Settings,
  isOwn: boolean,
  named: string | undefined,
): Promise<string> {
  if (named !== undefined) return named
  if (!isOwn) return refuse('Say which database')
  const { listBound } = await import('./own-service.ts')
  const all = await listBound(settings)
  const [only, ...others] = all.map(({ name }) => name)
  if (only === undefined) return refuse("No database is bound yet: 'masquerade database bind' does it")
  if (others.length === 0) return only
  throw new OperatorError(`Say which database:\n  ${[only, ...others].join('\n  ')}`, { exitCode: 2 })
}

function refuse(reason: string): never {
  throw new OperatorError(`${reason}. See 'masquerade help psql'.`, { exitCode: 2 })
}
