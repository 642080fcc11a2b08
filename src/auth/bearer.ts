import { hash } from 'node:crypto'
import { fail } from '../kernel/problem.ts'

/** The token of an Authorization header, and the digest under which its verification is remembered. */
export interface Bearer {
  readonly token: string
  readonly digest: string
}

const maxTokenBytes = 16 * 1024

export function readBearer(authorization: string | undefined): Bearer {
  const header = authorization?.trim() ?? ''
  if (header === '' || /^bearer$/i.test(header)) fail('MissingToken')
  const token = /^bearer +([\w.~+/=-]+)$/i.exec(header)?.[1] ?? fail('InvalidToken')
  if (token.length > maxTokenBytes) fail('InvalidToken')
  return { token, digest: hash('sha256', token, 'base64') }
}
