import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { OperatorError } from '../kernel/operator-error.ts'

/** Trusts the CA of a PEM file beside those of the system, for the rest of this process. */
export function trustCa(file: string): void {
  try {
    setDefaultCACertificates([...getCACertificates('default'), readFileSync(file, 'utf8')])
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`The CA certificate ${file} cannot be used (${code}).`, { cause })
  }
}
