import { OperatorError } from '../kernel/operator-error.ts'
import { listBoundNames } from '../masking/binding/find-bound.ts'
import type { Settings } from '../settings.ts'
import { openOperatorAccess } from './operator.ts'

/** The database that was named. Without a name, the only one there is: that takes a readable data directory. */
export async function chooseDatabase(
  settings: Settings,
  isOwn: boolean,
  named: string | undefined,
): Promise<string> {
  if (named !== undefined) return named
  if (!isOwn) return refuse('Say which database')
  const all = await listBound(settings)
  const [only, ...others] = nameShortly(all)
  if (only === undefined) return refuse("No database is bound yet: 'masquerade database bind' does it")
  if (others.length === 0) return only
  throw new OperatorError(`Say which database:\n  ${[only, ...others].join('\n  ')}`, { exitCode: 2 })
}

async function listBound(settings: Settings): Promise<readonly (readonly string[])[]> {
  await using access = await openOperatorAccess(settings)
  return await listBoundNames(access.database.sql, access.tenantId)
}

/** As much of each as tells it from the others. */
export function nameShortly(all: readonly (readonly string[])[]): string[] {
  const nameOf = (parts: readonly string[], count: number) => parts.slice(0, count).reverse().join('/')
  return all.map((parts) => {
    for (let count = 1; count < parts.length; count++) {
      const name = nameOf(parts, count)
      const same = all.filter((other) => nameOf(other, count).toLowerCase() === name.toLowerCase())
      if (same.length === 1) return name
    }
    return nameOf(parts, parts.length)
  })
}

function refuse(reason: string): never {
  throw new OperatorError(`${reason}. See 'masquerade help psql'.`, { exitCode: 2 })
}
