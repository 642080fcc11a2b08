import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import path from 'node:path'

const memory = '/dev/shm'
const prefix = 'masquerade-tests-'
/** The databases of a run take less than one, and other programs need some as well. */
const neededBytes = 4 * 2 ** 30

/**
 * A folder in memory for all temporary files of a run: databases are created there in a fifth of the time. Undefined
 * where memory is scarce or programs cannot run from it, and where a folder is set already.
 */
export function openTemporaryFolder(): (Disposable & { readonly path: string }) | undefined {
  if (process.env.TMPDIR || !hasRoom()) return undefined
  removeAbandoned()
  const folder = path.join(memory, `${prefix}${process.pid}`)
  remove(folder)
  const umask = process.umask(0)
  // As `/tmp` is: the servers run under another account.
  mkdirSync(folder, { mode: 0o1777 })
  process.umask(umask)
  return { path: folder, [Symbol.dispose]: () => remove(folder) }
}

function hasRoom(): boolean {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .findLast((line) => line.split(' ')[1] === memory)
    const { bavail, bsize } = statfsSync(memory)
    return mount !== undefined && !/[ ,]noexec[ ,]/.test(mount) && bavail * bsize >= neededBytes
  } catch {
    return false
  }
}

/** A run that was killed could not remove its folder. */
function removeAbandoned(): void {
  for (const name of readdirSync(memory))
    if (name.startsWith(prefix) && !isRunning(Number(name.slice(prefix.length))))
      remove(path.join(memory, name))
}

/** A process that was left behind may write on: what stays is removed by a later run, and fails none. */
function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  } catch {
    process.stderr.write(`${folder} could not be removed.\n`)
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
