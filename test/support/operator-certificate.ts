import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCa, issueCertificate } from '../../src/http/local-ca.ts'

/** Settings for a certificate of the operator's own, which is for no name or address of this machine. */
export async function makeOperatorCertificate(): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'masquerade-certificate-'))
  const names = ['masks.example.com']
  const { ca } = await createCa(names, new Date())
  const { cert, key } = await issueCertificate(ca, names, new Date())
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  await writeFile(files.certFile, cert)
  await writeFile(files.keyFile, key, { mode: 0o600 })
  return { MASQUERADE_TLS_CERT_FILE: files.certFile, MASQUERADE_TLS_KEY_FILE: files.keyFile }
}
