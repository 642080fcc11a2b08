import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'

const keyBytes = 32
const setting = 'MASQUERADE_SECRET_KEY_FILE'

/** The key that seals what lies in the database: the operator's own file, or one made on the first start. */
export function loadSecretKey(dataDir: string, file: string | undefined): Buffer {
  if (file !== undefined) return readKey(file)
  const own = join(dataDir, 'secret.key')
  createKey(own)
  return readKey(own)
}

/** The same for commands beside the service, which must not make one. */
export function readSecretKey(dataDir: string, file: string | undefined): Buffer {
  return readKey(file ?? join(dataDir, 'secret.key'))
}

/** Writes a draft and links it into place: a node that starts at the same time reads a whole key, never half of one. */
function createKey(file: string): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(draft, `${randomBytes(keyBytes).toString('base64')}\n`, { mode: 0o600, flush: true })
    linkSync(draft, file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'EEXIST') throw new OperatorError(`${file} cannot be written (${code}).`, { cause })
  } finally {
    rmSync(draft, { force: true })
  }
}

function readKey(file: string): Buffer {
  let content: Buffer
  try {
    content = readFileSync(file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`The secret key ${file} cannot be read (${code}).`, { cause })
  }
  if (content.length === keyBytes) return content
  const key = Buffer.from(content.toString('latin1').trim(), 'base64')
  if (key.length === keyBytes) return key
  throw new OperatorError(
    `${file} is not a secret key: it must hold ${keyBytes} bytes, raw or in base64 (${setting} names the file).`,
  )
}
