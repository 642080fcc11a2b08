import { lstat, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFileName, logFileName, restoreMarker } from '../db/data-directory.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { isNamedForGood, refuseOthers, refuseOwner, trustedUsers } from './own-file.ts'

/** What a service reads there, or adds to. All else it replaces as a whole. */
const entries = [
  'secret.key',
  'postgres-password',
  'postgres-port',
  'shop.json',
  'administrator-password',
  'administrator-application.json',
  lockFileName,
  logFileName,
  restoreMarker,
  ...['', 'ca.pem', 'ca-key.pem', 'server.pem', 'server-key.pem'].map((name) => join('tls', name)),
]

/**
 * Throws when another user could have written the data directory, or what a service reads in it (SVC-115, SVC-117). A command that
 * makes the directory asks afterwards: another user may have made it first.
 */
export async function requireOwnDirectory(dataDir: string): Promise<void> {
  const folder = await realpath(dataDir).catch(() => null)
  if (folder === null) return
  const found = await stat(folder)
  const users = trustedUsers(found.uid)
  if (!users) return
  refuseOthers(folder, found, users)
  const link = await lstat(dataDir)
  if (link.isSymbolicLink() && !isNamedForGood()) refuseOwner(dataDir, link, users)
  for (const name of entries) await judge(join(folder, name), users)
  // Root lends the embedded server an account, which then owns its files.
  const cluster = await stat(join(folder, 'postgres')).catch(() => null)
  const owners = process.geteuid?.() === 0 && cluster ? new Set([...users, cluster.uid]) : users
  await judge(join(folder, 'postgres'), owners)
}

/** A link of another trusted user, as the owner of a directory that root uses, leads to files of that user alone. */
async function judge(path: string, users: ReadonlySet<number>): Promise<void> {
  const found = await lstat(path).catch(() => null)
  if (!found) return
  if (!found.isSymbolicLink()) return refuseOthers(path, found, users)
  refuseOwner(path, found, users)
  const target = await stat(path).catch(() => null)
  const isOwn = found.uid === 0 || found.uid === process.geteuid?.()
  if (target && !isOwn && target.uid !== found.uid)
    throw new OperatorError(
      `${path} is a link of the user with the id ${found.uid} to what is not that user's own: nothing there is believed. Remove the link.`,
    )
  if (target) refuseOthers(path, target, users)
}
