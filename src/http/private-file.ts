import { constants } from 'node:fs'
import { mkdir, open, readFile } from 'node:fs/promises'
import { writePrivateFile as write } from '../db/private-file.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { codeOf } from '../kernel/sqlstate.ts'

/** Only the owner may enter it, whatever it was before. */
export async function makePrivateFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await closeToOthers(folder, 0o700)
  } catch (cause) {
    throw explain('create', folder, cause)
  }
}

export function writePrivateFile(file: string, text: string): void {
  try {
    write(file, text)
  } catch (cause) {
    throw explain('write', file, cause)
  }
}

/** Undefined when there is none. Access that others were given is taken away. */
export async function readPrivateFile(file: string): Promise<string | undefined> {
  try {
    const text = await readFile(file, 'utf8')
    await closeToOthers(file, 0o600)
    return text
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined
    throw explain('read', file, cause)
  }
}

/** What a link leads to keeps its mode: it may be a file that other programs read. */
async function closeToOthers(entry: string, mode: number): Promise<void> {
  const handle = await open(entry, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch((error) => {
    if (codeOf(error) === 'ELOOP') return null
    throw error
  })
  if (!handle) return
  try {
    const { mode: current } = await handle.stat()
    if ((current & 0o077) !== 0) await handle.chmod(mode)
  } finally {
    await handle.close()
  }
}

export function explain(action: string, file: string, cause: unknown): OperatorError {
  return new OperatorError(`Cannot ${action} ${file} (${codeOf(cause) || 'unknown reason'}).`, { cause })
}
