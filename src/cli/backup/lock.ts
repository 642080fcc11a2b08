import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { Decrypter, Encrypter } from 'age-encryption'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Settings } from '../../settings.ts'
import { refuseUse } from '../command.ts'
import { firstLine, readInput, readNewSecret, readSecret } from '../input.ts'

/** A passphrase, or keys of age: recipients to encrypt, identities to decrypt. */
export type Lock = { readonly passphrase: string } | { readonly keys: readonly string[] }

const shortestPassphrase = 12
const complaint =
  'A passphrase is expected: by --passphrase-file, MASQUERADE_BACKUP_PASSPHRASE or the standard input.'

interface Wishes {
  readonly 'passphrase-file'?: string | undefined
}

/** The key or passphrase that locks a new backup. */
export async function chooseLock(
  values: Wishes & { readonly recipient?: readonly string[] | undefined },
  { backupPassphrase }: Settings,
): Promise<Lock> {
  const { recipient = [], 'passphrase-file': file } = values
  if (recipient.length > 0 && file !== undefined)
    return refuseUse('backup', 'Say --recipient or --passphrase-file, not both')
  if (recipient.length > 0) return { keys: recipient }
  const passphrase =
    file !== undefined
      ? firstLine(await readInput(file))
      : (backupPassphrase ?? (await readNewSecret('Passphrase of the backup: ', complaint)))
  if (passphrase.length < shortestPassphrase)
    throw new OperatorError(
      `A passphrase has at least ${shortestPassphrase} characters. Nothing was written.`,
    )
  return { passphrase }
}

/** The key or passphrase that opens a backup. */
export async function chooseKey(
  values: Wishes & { readonly 'identity-file'?: string | undefined },
  { backupPassphrase }: Settings,
): Promise<Lock> {
  const { 'identity-file': identities, 'passphrase-file': file } = values
  if (identities !== undefined && file !== undefined)
    return refuseUse('restore', 'Say --identity-file or --passphrase-file, not both')
  if (identities !== undefined) {
    const keys = (await readInput(identities))
      .split(/\s+/)
      .filter((word) => word.startsWith('AGE-SECRET-KEY-'))
    if (keys.length > 0) return { keys }
    throw new OperatorError(`${identities} holds no identity of age (AGE-SECRET-KEY-…).`)
  }
  if (file !== undefined) return { passphrase: firstLine(await readInput(file)) }
  return { passphrase: backupPassphrase ?? (await readSecret('Passphrase of the backup: ', complaint)) }
}

export async function encrypt(lock: Lock, plain: Readable): Promise<Readable> {
  const encrypter = new Encrypter()
  try {
    if ('passphrase' in lock) encrypter.setPassphrase(lock.passphrase)
    else for (const key of lock.keys) encrypter.addRecipient(key)
  } catch (cause) {
    throw new OperatorError('A recipient is not a public key of age (age1…). Nothing was written.', { cause })
  }
  return fromWeb(await encrypter.encrypt(toWeb(plain)))
}

/** Refuses a file that the key does not open before anything of it is read. */
export async function decrypt(lock: Lock, sealed: Readable): Promise<Readable> {
  const decrypter = new Decrypter()
  try {
    if ('passphrase' in lock) decrypter.addPassphrase(lock.passphrase)
    else for (const key of lock.keys) decrypter.addIdentity(key)
    return fromWeb(await decrypter.decrypt(toWeb(sealed)))
  } catch (cause) {
    sealed.destroy()
    throw new OperatorError(
      `The file cannot be opened: it is not a backup, or ${'passphrase' in lock ? 'the passphrase is another' : 'no identity fits'}.`,
      { cause },
    )
  }
}

type Bytes = globalThis.ReadableStream<Uint8Array>

// Node and the library declare the same streams of the web by two types.
const toWeb = (stream: Readable) => Readable.toWeb(stream) as unknown as Bytes
const fromWeb = (stream: Bytes) => Readable.fromWeb(stream as unknown as ReadableStream)
