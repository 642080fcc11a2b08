import { access, mkdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'

/** The file that a restore keeps in the data directory while it runs. */
export const restoreMarker = 'restore-unfinished'
export const lockFileName = 'masquerade.lock'
export const logFileName = 'masquerade.log'

/** Creates the data directory, private to the operator; fails in one line where it cannot, or a restore did not finish. */
export async function prepareDataDir(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    throw new OperatorError(`The data directory ${dataDir} cannot be created (${code}).`, { cause })
  }
  const isHalfRestored = await access(join(dataDir, restoreMarker)).then(
    () => true,
    () => false,
  )
  if (isHalfRestored)
    throw new OperatorError(
      `A restore into ${dataDir} did not finish: run 'masquerade restore' again, or empty it.`,
    )
}

/** The room that is left for this user on the disk of the data directory. */
export async function readFreeBytes(dataDir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dataDir)
  return bavail * bsize
}
