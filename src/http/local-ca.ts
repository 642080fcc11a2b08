import { randomBytes, webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import { type NodeCertificate, nodeName } from '../kernel/node-name.ts'
import { createNameConstraints } from './name-constraints.ts'
import * as x509 from './x509.ts'

export interface LocalCa {
  readonly certificate: x509.X509Certificate
  readonly key: webcrypto.CryptoKey
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const dayMs = 24 * 60 * 60 * 1000
const caLifetimeMs = 3652 * dayMs
// The longest that browsers accept, less the hour by which clocks may be apart.
const serverLifetimeMs = 397 * dayMs
const clockSkewMs = 60 * 60 * 1000

/** Its certificates are only good for TLS servers of these names, so that its key is of little use to a thief. */
export async function createCa(names: readonly string[], now: Date): Promise<{ ca: LocalCa; key: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    // Told apart by number where one machine trusts several.
    name: [{ CN: [`Masquerade local CA ${randomBytes(4).toString('hex')}`] }],
    serialNumber: createSerialNumber(),
    notBefore: new Date(now.getTime() - clockSkewMs),
    notAfter: new Date(now.getTime() + caLifetimeMs),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      createNameConstraints(names),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { ca: { certificate, key: keys.privateKey }, key: await exportKey(keys.privateKey) }
}

export async function issueCertificate(
  ca: LocalCa,
  names: readonly string[],
  now: Date,
): Promise<{ cert: string; key: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const notBefore = now.getTime() - clockSkewMs
  const notAfter = Math.min(notBefore + serverLifetimeMs, ca.certificate.notAfter.getTime())
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [{ CN: ['Masquerade'] }],
    issuer: ca.certificate.subjectName,
    serialNumber: createSerialNumber(),
    notBefore: new Date(notBefore),
    notAfter: new Date(notAfter),
    publicKey: keys.publicKey,
    signingKey: ca.key,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) ? ('ip' as const) : ('dns' as const), value })),
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(ca.certificate.publicKey),
    ],
  })
  return { cert: toPem(certificate), key: await exportKey(keys.privateKey) }
}

/** A self-signed certificate for one process and its children. It is valid at any time: the key lives no longer than they do. */
export async function createNodeCertificate(): Promise<NodeCertificate> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [nodeName] }],
    serialNumber: createSerialNumber(),
    notBefore: new Date('2000-01-01T00:00:00Z'),
    notAfter: new Date('2100-01-01T00:00:00Z'),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: nodeName }]),
    ],
  })
  return { cert: toPem(certificate), key: await exportKey(keys.privateKey) }
}

export async function importCaKey(pkcs8: Uint8Array<ArrayBuffer>): Promise<webcrypto.CryptoKey> {
  return await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign'])
}

export function toPem(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem').trimEnd()}\n`
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', key)
  return `${x509.PemConverter.encode(pkcs8, 'PRIVATE KEY').trimEnd()}\n`
}

/** Positive and of full length: the first byte is from 0x40 to 0x7f. */
function createSerialNumber(): string {
  const bytes = randomBytes(16)
  bytes.writeUInt8((bytes.readUInt8(0) & 0x3f) | 0x40, 0)
  return bytes.toString('hex')
}
