import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { OperatorError } from '../kernel/operator-error.ts'

/** Trusts the CA of a PEM file beside those of the system, for the rest of this process. Returns what the file held. */
export function trustCa(file: string): string {
  return useCa(file, () => {
    const text = readFileSync(file, 'utf8')
    setDefaultCACertificates([...getCACertificates('default'), text])
    return text
  })
}

/** A private copy of a CA that was named, until it is disposed of: another user may replace the file while a person signs in. */
export async function copyCa(file: string): Promise<AsyncDisposable & { readonly path: string }> {
  const text = useCa(file, () => readFileSync(file))
  const folder = await mkdtemp(join(tmpdir(), 'masquerade-ca-'))
  const path = join(folder, 'ca.pem')
  await writeFile(path, text, { mode: 0o600 })
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

function useCa<T>(file: string, use: () => T): T {
  try {
    return use()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`The CA certificate ${file} cannot be used (${code}).`, { cause })
  }
}
