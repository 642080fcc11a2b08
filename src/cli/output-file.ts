import { open, rename, rm } from 'node:fs/promises'
import { OperatorError } from '../kernel/operator-error.ts'
import { surroundings } from './surroundings.ts'

export interface Sink {
  write(piece: string | Buffer): Promise<void>
  finish(): Promise<void>
  giveUp(): Promise<void>
}

const standardOutput: Sink = {
  write: (piece) => new Promise((resolve) => surroundings().stdout.write(piece, () => resolve())),
  finish: async () => {},
  giveUp: async () => {},
}

/** The file that a command writes, or the standard output for `-`. */
export async function openOutput(file: string): Promise<Sink> {
  return file === '-' ? standardOutput : openDraft(file)
}

/** Writes under another name and renames at the end, so that half an export is never taken for a whole one. */
async function openDraft(file: string): Promise<Sink> {
  const draft = `${file}.new`
  try {
    // In a folder that others can write, a link or a file of theirs would take the export elsewhere, or show it.
    await rm(draft, { force: true })
    const handle = await open(draft, 'wx', 0o600)
    return {
      write: (piece) => handle.appendFile(piece),
      async finish() {
        await handle.sync()
        await handle.close()
        await rename(draft, file)
      },
      async giveUp() {
        await handle.close()
        await rm(draft, { force: true })
      },
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`${draft} cannot be written (${code}).`, { cause })
  }
}
