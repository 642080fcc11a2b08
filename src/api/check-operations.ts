import { effectiveRights } from '../auth/effective-rights.ts'
import { type PermissionRow, parseCell } from '../auth/permission.ts'
import type { Operation } from './operation.ts'

type Tables = Readonly<Record<string, Readonly<Record<string, PermissionRow>>>>

/** Stops the start where operations and permission tables do not fit together: that would be an open door. */
export function checkOperations(operations: readonly Operation<never>[], tables: Tables): void {
  const faults = operations.flatMap(findFaults)
  if (faults.length === 0) faults.push(...findUnused(operations, tables))
  if (faults.length > 0) throw new Error(`operations and permissions do not fit:\n${faults.join('\n')}`)
}

function findFaults(operation: Operation<never>): string[] {
  return [...findPermissionFaults(operation), ...findRightFaults(operation)]
}

/**
 * Lists faults in the declared rights. A directory write without one would be open to every user of an application that
 * may write.
 */
function findRightFaults({ name, surface, method, reads, right }: Operation<never>): string[] {
  const rights = [right ?? []].flat()
  if (surface !== 'directory' || method === 'GET' || reads)
    return rights.length > 0 && !reads ? [`${name}: a read needs no right of the person`] : []
  if (rights.length === 0) return [`${name}: no effective right`]
  return rights
    .filter((one) => !Object.hasOwn(effectiveRights, one))
    .map((one) => `${name}: there is no effective right '${one}'`)
}

function findPermissionFaults({ name, permission }: Operation<never>): string[] {
  // The types ask for a permission; what was cast around them is caught here.
  const given: Partial<Operation<never>['permission']> = permission ?? {}
  if ('action' in given) return given.action ? [] : [`${name}: the action has no name`]
  if ('anyCaller' in given) return given.anyCaller ? [] : [`${name}: any caller, without a reason`]
  const rows = rowsOf({ permission: given as Operation['permission'] })
  if (rows.length === 0) return [`${name}: no permission row`]
  return rows.flatMap((row) => findBadCells(name, row))
}

function findBadCells(name: string, { delegated, personal, application }: PermissionRow): string[] {
  return [delegated, personal, application].flatMap((cell) => {
    try {
      parseCell(cell)
      return []
    } catch (error) {
      return [`${name}: ${(error as Error).message}`]
    }
  })
}

function findUnused(operations: readonly Operation<never>[], tables: Tables): string[] {
  const used = new Set(operations.flatMap(rowsOf))
  return Object.entries(tables).flatMap(([table, rows]) =>
    Object.entries(rows)
      .filter(([, row]) => !used.has(row))
      .map(([subject]) => `${table}: no operation uses the row '${subject}'`),
  )
}

function rowsOf({ permission }: Pick<Operation<never>, 'permission'>): readonly PermissionRow[] {
  if ('row' in permission) return permission.row ? [permission.row] : []
  return 'anyRow' in permission ? permission.anyRow : []
}
