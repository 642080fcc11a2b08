import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'
import { secretKeyBytes } from '../kernel/secret-box.ts'

const setting = 'MASQUERADE_SECRET_KEY_FILE'

/** The keys that seal what lies in the database: those of the operator's own file, or one made on the first start. */
export function loadSecretKeys(dataDir: string, file: string | undefined): Buffer[] {
  if (file === undefined) createKeyFile(join(dataDir, 'secret.key'))
  return readSecretKeys(dataDir, file)
}

/** The same for commands beside the service, which must not make one. Oldest first; two while one replaces the other. */
export function readSecretKeys(dataDir: string, file: string | undefined): Buffer[] {
  return readKeys(secretKeyPath(dataDir, file))
}

export function secretKeyPath(dataDir: string, file: string | undefined): string {
  return file ?? join(dataDir, 'secret.key')
}

/** Writes a draft and links it into place: a node that starts at the same time reads a whole key, never half of one. */
function createKeyFile(file: string): void {
  withDraft(file, [randomBytes(secretKeyBytes)], (draft) => {
    try {
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  })
}

/** Replaces the file as a whole: a node that reads it meanwhile sees the keys from before or those from after. */
export function writeSecretKeys(file: string, keys: readonly Uint8Array[]): void {
  withDraft(file, keys, (draft) => renameSync(draft, file))
}

function withDraft(file: string, keys: readonly Uint8Array[], place: (draft: string) => void): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(draft, renderKeys(keys), { mode: 0o600, flag: 'wx', flush: true })
    place(draft)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`${file} cannot be written (${code}).`, { cause })
  } finally {
    rmSync(draft, { force: true })
  }
}

export function renderKeys(keys: readonly Uint8Array[]): string {
  return keys.map((key) => `${Buffer.from(key).toString('base64')}\n`).join('')
}

function readKeys(file: string): Buffer[] {
  let content: Buffer
  try {
    content = readFileSync(file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`The secret key ${file} cannot be read (${code}).`, { cause })
  }
  if (content.length === secretKeyBytes) return [content]
  const lines = content.toString('latin1').trim().split(/\s+/)
  const keys = lines.map((line) => Buffer.from(line, 'base64'))
  if (keys.length <= 2 && keys.every((key) => key.length === secretKeyBytes)) return keys
  throw new OperatorError(
    `${file} is not a secret key: it must hold ${secretKeyBytes} bytes, raw or in base64 (${setting} names the file).`,
  )
}
