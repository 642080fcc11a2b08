import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Settings } from '../settings.ts'
import { listConfiguredNames, listOwnNames } from './certificate-names.ts'
import { createCa, importCaKey, issueCertificate, type LocalCa, toPem } from './local-ca.ts'
import { permitsName } from './name-constraints.ts'
import { readOperatorCertificate } from './operator-certificate.ts'
import { makePrivateFolder, readPrivateFile, writePrivateFile } from './private-file.ts'
import * as x509 from './x509.ts'

export interface Certificates {
  /** PEM of the local CA. */
  readonly ca?: string
  /** PEM, the server's own certificate first. */
  readonly cert: string
  readonly key: string
  readonly expiresAt: Date
  readonly source: 'local CA' | 'operator'
}

export interface CertificateOptions {
  readonly dataDir: string
  /** Names and addresses that clients use besides localhost and the machine's own name. */
  readonly hostNames: readonly string[]
  readonly certFile?: string
  readonly keyFile?: string
  readonly now?: Date
}

type TlsSettings = Pick<Settings, 'dataDir' | 'host' | 'tlsHostNames' | 'tlsCertFile' | 'tlsKeyFile'>

/** The certificate that the settings ask for. */
export function loadConfigured(settings: TlsSettings): Promise<Certificates> {
  const { dataDir, host, tlsHostNames, tlsCertFile, tlsKeyFile } = settings
  return loadCertificates({
    dataDir,
    hostNames: [host, ...tlsHostNames],
    ...(tlsCertFile && { certFile: tlsCertFile }),
    ...(tlsKeyFile && { keyFile: tlsKeyFile }),
  })
}

const renewBeforeMs = 30 * 24 * 60 * 60 * 1000

/**
 * The certificate to serve now. Call it again from time to time: it renews a certificate of the local CA that is
 * about to expire, and reads the operator's files anew.
 */
export async function loadCertificates(options: CertificateOptions): Promise<Certificates> {
  const { dataDir, hostNames, certFile, keyFile, now = new Date() } = options
  if (certFile && keyFile)
    return { ...(await readOperatorCertificate(certFile, keyFile, now)), source: 'operator' }
  if (certFile || keyFile)
    throw new OperatorError(
      'MASQUERADE_TLS_CERT_FILE and MASQUERADE_TLS_KEY_FILE belong together: set both or neither.',
    )
  const folder = path.join(dataDir, 'tls')
  await makePrivateFolder(folder)
  const configured = listConfiguredNames(hostNames)
  const own = listOwnNames(hostname())
  const ca = await findOrCreateCa(folder, configured, own, now)
  // The machine's name may be new every day, in a container for one. That must not cost the CA its clients' trust.
  const permitted = own.filter((name) => permitsName(ca.certificate, name))
  const names = [...new Set([...permitted, ...configured])]
  const server = (await readServer(folder, ca, names, now)) ?? (await createServer(folder, ca, names, now))
  const expiresAt = new Date(new X509Certificate(server.cert).validTo)
  return { ca: toPem(ca.certificate), ...server, expiresAt, source: 'local CA' }
}

async function findOrCreateCa(
  folder: string,
  configured: readonly string[],
  own: readonly string[],
  now: Date,
): Promise<LocalCa> {
  const found = await readCa(folder)
  const isUsable =
    found &&
    !isAboutToExpire(found.certificate.notAfter, now) &&
    configured.every((name) => permitsName(found.certificate, name))
  if (isUsable) return found
  const { ca, key } = await createCa([...new Set([...own, ...configured])], now)
  // In this order a stop in between leaves no certificate, which is the same as a first start.
  await rm(path.join(folder, 'ca.pem'), { force: true })
  writePrivateFile(path.join(folder, 'ca-key.pem'), key)
  writePrivateFile(path.join(folder, 'ca.pem'), toPem(ca.certificate))
  return ca
}

/** Clients trust this CA, so that a damaged one is for the operator to decide about. */
async function readCa(folder: string): Promise<LocalCa | undefined> {
  const [certFile, keyFile] = [path.join(folder, 'ca.pem'), path.join(folder, 'ca-key.pem')]
  const cert = await readPrivateFile(certFile)
  if (cert === undefined) return undefined
  const damaged = (what: string, cause?: unknown) =>
    new OperatorError(
      `${what} Restore ${folder} from a backup, or delete it: the next start makes a new CA, which clients have to trust anew.`,
      { cause },
    )
  const parsed = parseCertificate(cert)
  if (!parsed) throw damaged(`${certFile} is not a certificate.`)
  const key = parseKey((await readPrivateFile(keyFile)) ?? '')
  if (!key) throw damaged(`${keyFile} is missing or not a private key.`)
  if (!parsed.checkPrivateKey(key)) throw damaged(`${keyFile} does not belong to ${certFile}.`)
  try {
    const pkcs8 = key.export({ format: 'der', type: 'pkcs8' })
    return { certificate: new x509.X509Certificate(cert), key: await importCaKey(new Uint8Array(pkcs8)) }
  } catch (cause) {
    throw damaged(`The CA in ${certFile} is not one that this service made.`, cause)
  }
}

/**
 * Undefined when a new certificate is due. Clients trust the CA and not this certificate, so it can be replaced at any
 * time.
 */
async function readServer(
  folder: string,
  ca: LocalCa,
  names: readonly string[],
  now: Date,
): Promise<{ cert: string; key: string } | undefined> {
  const cert = (await readPrivateFile(path.join(folder, 'server.pem'))) ?? ''
  const key = (await readPrivateFile(path.join(folder, 'server-key.pem'))) ?? ''
  const [parsedCert, parsedKey, issuer] = [
    parseCertificate(cert),
    parseKey(key),
    parseCertificate(toPem(ca.certificate)),
  ]
  if (!parsedCert || !parsedKey || !issuer) return undefined
  const isCurrent =
    parsedCert.checkPrivateKey(parsedKey) &&
    parsedCert.checkIssued(issuer) &&
    parsedCert.verify(issuer.publicKey) &&
    new Date(parsedCert.validFrom) <= now &&
    !isAboutToExpire(new Date(parsedCert.validTo), now) &&
    isFor(cert, names)
  return isCurrent ? { cert, key } : undefined
}

async function createServer(folder: string, ca: LocalCa, names: readonly string[], now: Date) {
  const server = await issueCertificate(ca, names, now)
  writePrivateFile(path.join(folder, 'server-key.pem'), server.key)
  writePrivateFile(path.join(folder, 'server.pem'), server.cert)
  return server
}

function isFor(cert: string, names: readonly string[]): boolean {
  const extension = new x509.X509Certificate(cert).getExtension(x509.SubjectAlternativeNameExtension)
  const found = extension?.names.items.map(({ value }) => value) ?? []
  return found.toSorted().join() === names.toSorted().join()
}

function isAboutToExpire(expiresAt: Date, now: Date): boolean {
  return expiresAt.getTime() - now.getTime() < renewBeforeMs
}

function parseCertificate(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text)
  } catch {
    return undefined
  }
}

function parseKey(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text)
  } catch {
    return undefined
  }
}
