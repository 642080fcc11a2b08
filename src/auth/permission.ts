/** Path parameters by name, percent-decoded. */
export type Params = Readonly<Record<string, string>>

/** The permission that a caller must hold; checked before anything else of the request is read. */
export type Permission =
  /** A row of the directory's tables. */
  | { readonly row: PermissionRow }
  /** Any of these rows; the operation then requires the one that the body names (`requirePermissions`). */
  | { readonly anyRow: readonly PermissionRow[] }
  /** An action over the scope that the path names. */
  | { readonly action: string; readonly scope: (params: Params) => string }
  /** Any verified caller, with the reason: it answers about the caller alone, or checks what the body names. */
  | { readonly anyCaller: string }

/** Permissions that are all required; a list of these is a list of alternatives. */
export type Alternative = readonly string[]

export const notSupported = 'Not supported'

/** One row of a permission table, each cell in the words of the specification. */
export interface PermissionRow {
  readonly delegated: string
  readonly personal: string
  readonly application: string
  /** The table lists the least privileged permissions only: stronger ones are accepted too. */
  readonly leastPrivileged: boolean
}

const cells = new Map<string, readonly Alternative[]>()

/** Reads a cell: a comma or bar separates alternatives, `and` joins permissions that are all required. */
export function parseCell(cell: string): readonly Alternative[] {
  const known = cells.get(cell)
  if (known) return known
  const parsed =
    cell === notSupported
      ? []
      : cell.split(/[,|]/).map((alternative) => alternative.trim().split(/\s+and\s+/))
  for (const name of parsed.flat())
    if (!/^[A-Za-z]+(\.[A-Za-z]+)+$/.test(name)) throw new Error(`'${name}' is not the name of a permission`)
  cells.set(cell, parsed)
  return parsed
}
