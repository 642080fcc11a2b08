import { closeSync, constants, fchmodSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../../kernel/operator-error.ts'
import { lockFileName } from '../data-directory.ts'
import { writePrivateFile } from '../private-file.ts'

export type DirectoryLock = { release(): void }

/** By directory. The handle is kept here: closed by the garbage collector, it would let go of the lock. */
const held = new Map<string, DatabaseSync>()

/**
 * At most one service per data directory. Node offers no file locks, but SQLite takes them: an exclusive transaction
 * on an empty file is a lock that the kernel drops with the process, however that ends, and that no other process can
 * inherit by getting the same pid.
 */
export function lockDirectory(directory: string): DirectoryLock {
  const real = realpathSync(directory)
  const pidFile = path.join(real, 'masquerade.pid')
  // The kernel's locks do not keep a process from itself, and a second handle would drop the first one's lock.
  if (held.has(real)) throw refusal(directory, pidFile)
  const lockFile = path.join(real, lockFileName)
  let handle: DatabaseSync | undefined
  try {
    createLockFile(lockFile)
    handle = new DatabaseSync(lockFile)
    handle.exec('begin exclusive')
  } catch (cause) {
    handle?.close()
    if (isBusy(cause)) throw refusal(directory, pidFile)
    const reason = cause instanceof Error ? cause.message : 'unknown reason'
    throw new OperatorError(`the data directory ${directory} cannot be locked: ${reason}`, { cause })
  }
  held.set(real, handle)
  writePrivateFile(pidFile, `${process.pid}\n`)
  return {
    release() {
      rmSync(pidFile, { force: true })
      handle.close()
      held.delete(real)
    },
  }
}

/** SQLite would follow a link. The descriptor is closed before it locks: closing one later would drop the lock. */
function createLockFile(file: string): void {
  const { O_RDWR, O_CREAT, O_NOFOLLOW = 0 } = constants
  const descriptor = openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
  try {
    fchmodSync(descriptor, 0o600)
  } finally {
    closeSync(descriptor)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 5
}

function refusal(directory: string, pidFile: string): OperatorError {
  const pid = readPid(pidFile)
  const who = pid === undefined ? 'another Masquerade' : `another Masquerade (pid ${pid})`
  return new OperatorError(`${who} is using this data directory: ${directory}`)
}

function readPid(pidFile: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(pidFile, 'utf8'), 10) || undefined
  } catch {
    return undefined
  }
}
