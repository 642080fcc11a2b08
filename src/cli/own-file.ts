import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'
import { surroundings } from './surroundings.ts'

export interface OwnFile {
  /** Without links: what they lead to may change later. */
  readonly path: string
  readonly text: string
}

/** The CA that a service without a certificate of the operator makes for itself. */
export const ownCaName = join('tls', 'ca.pem')

/**
 * A file of the data directory by which commands decide where a token goes, or null where none can be read. Throws when another
 * user could have written it: the data directory is the one of the current folder unless it is named, and any user may put one into
 * a folder of theirs.
 */
export async function readOwnFile(dataDir: string, name: string): Promise<OwnFile | null> {
  const named = join(dataDir, name)
  let handle: FileHandle
  try {
    // A pipe would wait for its writer.
    handle = await open(named, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch {
    return null
  }
  await using file = handle
  const opened = await file.stat()
  if (!opened.isFile()) return null
  const path = await realpath(named)
  const folder = await realpath(dataDir)
  const owner = await stat(folder)
  const users = trustedUsers(owner.uid)
  const around = dirname(path)
  if (users) {
    refuseOthers(folder, owner, users)
    if (around !== folder) refuseOthers(around, await lstat(around), users)
    refuseOthers(path, opened, users)
    const found = await lstat(path)
    if (found.ino !== opened.ino || found.dev !== opened.dev)
      throw new OperatorError(`${path} was replaced while it was read. Run the command again.`)
  }
  return { path, text: await file.readFile('utf8') }
}

/** Null on Windows, where files have no such owner. */
export function trustedUsers(owner: number): ReadonlySet<number> | null {
  const caller = process.geteuid?.()
  if (caller === undefined) return null
  const { SUDO_UID: before = '' } = surroundings().env
  const users = new Set([0, caller])
  if (caller === 0 && /^\d+$/.test(before)) users.add(Number(before))
  // An operator who names a place for good means the service of its owner. A relative path is another one in each folder.
  if (isNamedForGood()) users.add(owner)
  return users
}

export function isNamedForGood(): boolean {
  return isAbsolute(surroundings().env.MASQUERADE_DATA_DIR ?? '')
}

/** The mode of a link says nothing: no user can write one. */
export function refuseOwner(path: string, { uid }: Stats, users: ReadonlySet<number>): void {
  if (!users.has(uid))
    throw new OperatorError(
      `${path} belongs to the user with the id ${uid}, and neither to you (${process.geteuid?.()}) nor to root: nothing there is believed. Go to another folder, or name the data directory that you mean by its whole path in MASQUERADE_DATA_DIR.`,
    )
}

/** A group with the number of such a user is the private one of that user. */
export function refuseOthers(path: string, found: Stats, users: ReadonlySet<number>): void {
  refuseOwner(path, found, users)
  const { uid, gid, mode } = found
  const writers =
    (mode & 0o002) !== 0
      ? 'every user of this machine'
      : (mode & 0o020) !== 0 && !users.has(gid)
        ? `the group with the id ${gid}`
        : undefined
  if (writers !== undefined)
    throw new OperatorError(
      `${path} belongs to the user with the id ${uid}, and ${writers} can write it: nothing there is believed. If all in it is yours: chmod go-w, or name a folder in it for MASQUERADE_DATA_DIR.`,
    )
}
