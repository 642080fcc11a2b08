import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

export interface Certificates {
  readonly ca?: string
  readonly cert: string
  readonly key: string
}

export interface CertificateOptions {
  readonly dataDir: string
  readonly hostNames: readonly string[]
  readonly certFile?: string
  readonly keyFile?: string
}

/** A self-signed certificate for this run. */
export async function loadCertificates(_options: CertificateOptions): Promise<Certificates> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=localhost',
    keys,
    signingAlgorithm: algorithm,
  })
  const exported = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  const cert = certificate.toString('pem')
  return { ca: cert, cert, key: x509.PemConverter.encode(exported, 'PRIVATE KEY') }
}
