import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const keyIdBytes = 4

/** Encrypts what must not lie in the database in the clear: AES-256-GCM, bound to the place it is stored in. */
export interface SecretBox {
  /** `place` (table, row) is authenticated: a sealed value moved elsewhere does not open. */
  seal(place: string, plain: string): Buffer
  /** Throws when the value was changed, moved, or sealed with another key. */
  open(place: string, sealed: Uint8Array): string
  /** 32 bytes that are always the same for a purpose, and tell nothing about the key or another purpose. */
  derive(purpose: string): Buffer
}

export class SecretBoxError extends Error {}

export function createSecretBox(key: Uint8Array): SecretBox {
  if (key.length !== keyBytes) throw new SecretBoxError(`a secret key has ${keyBytes} bytes`)
  const keyId = createHash('sha256').update('masquerade key id').update(key).digest().subarray(0, keyIdBytes)
  return {
    seal(place, plain) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(Buffer.from(place))
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([keyId, nonce, cipher.getAuthTag(), text])
    },
    open(place, sealed) {
      const bytes = Buffer.from(sealed)
      if (!bytes.subarray(0, keyIdBytes).equals(keyId)) throw new SecretBoxError('sealed with another key')
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
    derive(purpose) {
      return Buffer.from(hkdfSync('sha256', key, '', `masquerade ${purpose}`, keyBytes))
    },
  }
}
