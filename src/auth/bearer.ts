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

/**
 * Reads the header of a connection once while it stays the same: a client sends the same token with every request, and
 * reading and hashing it takes longer than the rest of the check. The token is forgotten with its connection.
 */
export function createBearerReader() {
  const last = new WeakMap<object, { readonly authorization: string; readonly bearer: Bearer }>()
  return (authorization: string | undefined, connection: object | undefined): Bearer => {
    const known = connection && last.get(connection)
    if (known && known.authorization === authorization) return known.bearer
    const bearer = readBearer(authorization)
    if (connection && authorization !== undefined) last.set(connection, { authorization, bearer })
    return bearer
  }
}
