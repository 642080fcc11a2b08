import { createHash } from 'node:crypto'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { isStorableText } from '../entities/storable.ts'

/** The end of a page: the sort values and id of its last row. Rows may be added and deleted around it. */
export interface Position {
  readonly sortValues: readonly string[]
  readonly id: string
}

const version = 2

/** A token continues only the list it came from: same path, filter and order. */
export function fingerprintList(
  path: string,
  { $filter, $orderby, $search }: { $filter?: string; $orderby?: string; $search?: string } = {},
): string {
  const parts = [path.toLowerCase(), $filter, $orderby, $search]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16)
}

export function writeSkipToken(fingerprint: string, { sortValues, id }: Position): string {
  return Buffer.from(JSON.stringify([version, fingerprint, sortValues, id])).toString('base64url')
}

export function readSkipToken(token: string, fingerprint: string): Position {
  const read = parse(token)
  if (!Array.isArray(read) || read.length !== 4) return refuse('is not one of ours')
  const [tokenVersion, tokenFingerprint, sortValues, id] = read as unknown[]
  if (tokenVersion !== version || typeof id !== 'string' || !isUuid(id)) return refuse('is not one of ours')
  const isValue = (value: unknown) => typeof value === 'string' && isStorableText(value)
  if (!Array.isArray(sortValues) || !sortValues.every(isValue)) return refuse('is not one of ours')
  if (tokenFingerprint !== fingerprint) return refuse('continues another list')
  return { sortValues, id }
}

function parse(token: string): unknown {
  if (token.length > 4096 || !/^[\w-]+$/.test(token)) return undefined
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString())
  } catch {
    return undefined
  }
}

function refuse(reason: string): never {
  return fail('InvalidQueryOption', { option: '$skiptoken', reason })
}
