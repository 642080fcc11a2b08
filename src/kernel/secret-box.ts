import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

export const secretKeyBytes = 32
const nonceBytes = 12
const tagBytes = 16
export const keyIdBytes = 4

/** Encrypts what must not lie in the database in the clear: AES-256-GCM, bound to the place it is stored in. */
export interface SecretBox {
  /** `place` (table, row) is authenticated: a sealed value moved elsewhere does not open. */
  seal(place: string, plain: string): Buffer
  /** Throws when the value was changed, moved, or sealed with a key that is not known. */
  open(place: string, sealed: Uint8Array): string
  /** 32 bytes that are always the same for a purpose and key, and tell nothing about the key or another purpose. */
  derive(purpose: string): Buffer
  /** The same of the keys that are older than the one that seals, and of those that are newer. */
  deriveOthers(purpose: string): { readonly older: readonly Buffer[]; readonly newer: readonly Buffer[] }
}

/** A box over one key, or over several while one replaces the other. One of them seals, each of them opens. */
export interface SecretRing extends SecretBox {
  /** Oldest first. */
  readonly keyIds: readonly string[]
  readonly sealsWith: string
  /** Replaces the keys, oldest first. Undefined: the oldest seals. Throws when the key that is to seal is missing. */
  use(keys: readonly Uint8Array[], sealsWith: string | undefined): void
}

export class SecretBoxError extends Error {}

/** Names a key without telling anything about it. */
export function nameKey(key: Uint8Array): string {
  const digest = createHash('sha256').update('masquerade key id').update(key).digest()
  return digest.subarray(0, keyIdBytes).toString('hex')
}

export function createSecretBox(first: Uint8Array | readonly Uint8Array[], sealsWith?: string): SecretRing {
  let keys = new Map<string, Uint8Array>()
  let sealing = ''
  const use = (list: readonly Uint8Array[], wanted: string | undefined) => {
    if (list.some((key) => key.length !== secretKeyBytes))
      throw new SecretBoxError(`a secret key has ${secretKeyBytes} bytes`)
    const named = new Map(list.map((key) => [nameKey(key), key]))
    const chosen = wanted ?? named.keys().next().value ?? ''
    if (!named.has(chosen)) throw new SecretBoxError('the key that seals is not known')
    keys = named
    sealing = chosen
  }
  const derive = (key: Uint8Array, purpose: string) =>
    Buffer.from(hkdfSync('sha256', key, '', `masquerade ${purpose}`, secretKeyBytes))
  const current = () => keys.get(sealing) as Uint8Array
  use(first instanceof Uint8Array ? [first] : first, sealsWith)
  return {
    use,
    get keyIds() {
      return [...keys.keys()]
    },
    get sealsWith() {
      return sealing
    },
    seal(place, plain) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', current(), nonce)
      cipher.setAAD(Buffer.from(place))
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.from(sealing, 'hex'), nonce, cipher.getAuthTag(), text])
    },
    open(place, sealed) {
      const bytes = Buffer.from(sealed)
      const key = keys.get(bytes.subarray(0, keyIdBytes).toString('hex'))
      if (!key) throw new SecretBoxError('sealed with another key')
      const nonce = bytes.subarray(keyIdBytes, keyIdBytes + nonceBytes)
      const tag = bytes.subarray(keyIdBytes + nonceBytes, keyIdBytes + nonceBytes + tagBytes)
      const decipher = createDecipheriv('aes-256-gcm', key, nonce)
      decipher.setAAD(Buffer.from(place))
      decipher.setAuthTag(tag)
      try {
        const text = bytes.subarray(keyIdBytes + nonceBytes + tagBytes)
        return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8')
      } catch (cause) {
        throw new SecretBoxError('the sealed value is damaged', { cause })
      }
    },
    derive: (purpose) => derive(current(), purpose),
    deriveOthers(purpose) {
      const ids = [...keys.keys()]
      const at = ids.indexOf(sealing)
      const all = [...keys.values()].map((key) => derive(key, purpose))
      return { older: all.slice(0, at), newer: all.slice(at + 1) }
    },
  }
}
