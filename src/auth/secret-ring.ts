import type { Logger } from 'pino'
import { readSealingKey, selectSealingKey } from '../db/instance.ts'
import type { Pulse } from '../db/pulse.ts'
import type { Query } from '../db/query.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { createSecretBox, SecretBoxError, type SecretRing } from '../kernel/secret-box.ts'
import { loadSecretKeys, readSecretKeys } from './secret-key.ts'

export const sealedElsewhere =
  "The secrets in the database were sealed with another key. Give every node of this database the same secret.key (MASQUERADE_SECRET_KEY_FILE), the first node's; where it is lost, 'masquerade admin restore --replace-keys' makes new ones."

interface KeyPlace {
  readonly dataDir: string
  readonly secretKeyFile: string | undefined
}

/** The keys of the file; the store says which of them seals. `isCommand`: no key is made. */
export async function openSecretRing(
  sql: Query,
  { dataDir, secretKeyFile }: KeyPlace,
  isCommand = false,
): Promise<SecretRing> {
  const keys = isCommand ? readSecretKeys(dataDir, secretKeyFile) : loadSecretKeys(dataDir, secretKeyFile)
  try {
    return createSecretBox(keys, await readSealingKey(sql))
  } catch (cause) {
    if (!(cause instanceof SecretBoxError)) throw cause
    throw new OperatorError(sealedElsewhere, { cause })
  }
}

/**
 * Follows a rotation of the secret key: the file may get a key more or less, and the store another one that seals. A file
 * that cannot be read leaves the keys as they are. `onChange` hears of every change.
 */
export function followSecretKeys(
  ring: SecretRing,
  { sql, pulse, dataDir, secretKeyFile }: KeyPlace & { readonly sql: Query; readonly pulse: Pulse },
  onChange: () => void,
  log: Logger,
): { close(): void } {
  let hasFailed = false
  const look = (sealsWith: string | null) => {
    const before = [ring.sealsWith, ...ring.keyIds].join()
    try {
      ring.use(readSecretKeys(dataDir, secretKeyFile), sealsWith ?? undefined)
      hasFailed = false
    } catch (err) {
      if (!hasFailed) log.warn({ err }, 'the secret keys could not be read anew')
      hasFailed = true
    }
    if ([ring.sealsWith, ...ring.keyIds].join() !== before) onChange()
  }
  return { close: pulse.ask(selectSealingKey(sql), look) }
}
