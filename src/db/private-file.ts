import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Whole or absent, even when the machine stops in between, and never readable by others. The draft is a new file and the name is taken over by it, so neither a file nor a link
 * that another user left under either name gets the text.
 */
export function writePrivateFile(file: string, text: string): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}.new`
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(draft, file)
    syncFolder(dirname(file))
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
