import { mkdir, statfs } from 'node:fs/promises'
import { OperatorError } from '../kernel/operator-error.ts'

/** Creates the data directory, private to the operator; fails in one line where it cannot. */
export async function prepareDataDir(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    throw new OperatorError(`The data directory ${dataDir} cannot be created (${code}).`, { cause })
  }
}

/** The room that is left for this user on the disk of the data directory. */
export async function readFreeBytes(dataDir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dataDir)
  return bavail * bsize
}
