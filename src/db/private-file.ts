import { randomBytes } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Whole or absent, and never readable by others. The draft is a new file and the name is taken over by it, so neither a file nor a link
 * that another user left under either name gets the text.
 */
export function writePrivateFile(file: string, text: string): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}.new`
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
