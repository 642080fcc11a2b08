import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { OperatorError } from '../kernel/operator-error.ts'
import { explain } from './private-file.ts'

/** A certificate that the operator brings, with its chain; refused where clients would meet a broken service. */
export async function readOperatorCertificate(
  certFile: string,
  keyFile: string,
  now: Date,
): Promise<{ cert: string; key: string; expiresAt: Date }> {
  const cert = await read(certFile)
  const key = await read(keyFile)
  const [leaf] = parseChain(certFile, cert)
  if (!leaf) throw new OperatorError(`${certFile} holds no certificate in PEM form.`)
  if (!leaf.checkPrivateKey(parseKey(keyFile, key)))
    throw new OperatorError(
      `The private key in ${keyFile} does not belong to the certificate in ${certFile}, of which the first counts.`,
    )
  const [startsAt, expiresAt] = [new Date(leaf.validFrom), new Date(leaf.validTo)]
  if (expiresAt <= now)
    throw new OperatorError(`The certificate in ${certFile} expired on ${day(expiresAt)}.`)
  if (startsAt > now)
    throw new OperatorError(`The certificate in ${certFile} is not valid before ${day(startsAt)}.`)
  try {
    createSecureContext({ cert, key })
  } catch (cause) {
    throw new OperatorError(`The certificate in ${certFile} cannot be used for TLS: ${reason(cause)}.`, {
      cause,
    })
  }
  return { cert, key, expiresAt }
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw explain('read', file, cause)
  }
}

function parseChain(file: string, text: string): X509Certificate[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block, at) => {
    try {
      return new X509Certificate(block)
    } catch (cause) {
      throw new OperatorError(`Certificate ${at + 1} in ${file} cannot be read: it is damaged.`, { cause })
    }
  })
}

function parseKey(file: string, text: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch (cause) {
    if (/ENCRYPTED/.test(text))
      throw new OperatorError(`The private key in ${file} is encrypted. Give one without a passphrase.`, {
        cause,
      })
    throw new OperatorError(`${file} holds no private key in PEM form.`, { cause })
  }
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10)
}

function reason(cause: unknown): string {
  return cause instanceof Error && 'reason' in cause ? String(cause.reason) : 'it was refused'
}
