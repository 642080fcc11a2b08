import { randomUUID, webcrypto, X509Certificate } from 'node:crypto'
import { SignJWT } from 'jose'
import * as x509 from '../../src/http/x509.ts'

export const rsa = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
}
const dayMs = 24 * 60 * 60 * 1000

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** A certificate of an application, with its key. */
export async function makeCertificate(
  algorithm: typeof rsa | { name: 'ECDSA'; namedCurve: string; hash: string } = rsa,
) {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: ['walk'] }],
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + dayMs),
    keys,
    signingAlgorithm: algorithm,
  })
  const der = Buffer.from(made.rawData)
  const thumbprint = (name: 'fingerprint' | 'fingerprint256') =>
    Buffer.from(new X509Certificate(der)[name].replaceAll(':', ''), 'hex').toString('base64url')
  return {
    key: der.toString('base64'),
    privateKey: keys.privateKey,
    x5t: thumbprint('fingerprint'),
    x5tS256: thumbprint('fingerprint256'),
  }
}
export type Certificate = Awaited<ReturnType<typeof makeCertificate>>

export interface AssertionWish {
  readonly claims?: Record<string, unknown>
  readonly header?: Record<string, unknown>
  readonly by: Certificate
  readonly seconds?: number
}

/** The assertion by which an application proves itself at `audience`. */
export function signAssertion(
  appId: string,
  audience: string,
  { claims, header, by, seconds = 600 }: AssertionWish,
): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + seconds
  return new SignJWT({ iss: appId, sub: appId, aud: audience, jti: randomUUID(), exp, ...claims })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', x5t: by.x5t, ...header })
    .sign(by.privateKey)
}
