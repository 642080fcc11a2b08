import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { OperatorError } from '../kernel/operator-error.ts'
import { exitCodes } from './exit-codes.ts'
import { surroundings, warn } from './surroundings.ts'

/** The text of a file; '-' is the standard input. */
export async function readInput(file: string): Promise<string> {
  if (file === '-') return text(surroundings().stdin)
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`${file} cannot be read (${(cause as NodeJS.ErrnoException).code}).`, { cause })
  }
}

/** Asks on a terminal. Elsewhere the operator has to say --yes. */
export async function isConfirmed(question = 'Apply this?'): Promise<boolean> {
  const { stdin, stdout } = surroundings()
  if (!stdin.isTTY)
    throw new OperatorError('Nothing was changed: this is not a terminal, so say --yes to apply it.', {
      exitCode: exitCodes.usage,
    })
  const terminal = createInterface({ input: stdin, output: stdout })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}

/** A new password: asked for twice on a terminal, else the first line of the standard input. It is never an argument. */
export async function readNewPassword(whose: string): Promise<string> {
  return readNewSecret(
    `New password of ${whose}: `,
    'The password is expected on the standard input, or say --invite.',
  )
}

/** A secret that is asked for twice on a terminal, else the first line of the standard input. */
export async function readNewSecret(question: string, complaint: string): Promise<string> {
  const secret = await readSecret(question, complaint)
  if (!surroundings().stdin.isTTY || secret === (await askSecretly('The same again: '))) return secret
  throw new OperatorError('The two are not the same. Nothing was changed.')
}

/** A secret that is asked for on a terminal, else the first line of the standard input. */
export async function readSecret(question: string, complaint: string): Promise<string> {
  if (surroundings().stdin.isTTY) return askSecretly(question)
  const line = firstLine(await text(surroundings().stdin))
  if (line !== '') return line
  throw new OperatorError(complaint, { exitCode: exitCodes.usage })
}

export function firstLine(content: string): string {
  return content.split(/\r?\n/, 1)[0] ?? ''
}

async function askSecretly(question: string): Promise<string> {
  // The terminal is in raw mode while readline reads: what it echoes goes to this stream, and nowhere.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  warn(question)
  const terminal = createInterface({ input: surroundings().stdin, output: silent, terminal: true })
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    warn('\n')
  }
}
