import type { RequestFacts } from '../api/operation.ts'
import { fail } from '../kernel/problem.ts'

/** Where the next page begins, as clients carry it: opaque, and refused when it is not ours. */
export function encodeSkipToken(position: readonly string[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

export function decodeSkipToken(token: string | undefined, length: number): readonly string[] | null {
  if (token === undefined) return null
  try {
    const position: unknown = JSON.parse(Buffer.from(token, 'base64url').toString())
    if (Array.isArray(position) && position.length === length && position.every(isText)) return position
  } catch {}
  return fail('InvalidQueryOption', { option: '$skipToken', reason: 'is not one that this service gave out' })
}

function isText(item: unknown): item is string {
  return typeof item === 'string' && !item.includes('\0') && item.isWellFormed()
}

export function nextLink(
  { baseUrl, path }: RequestFacts,
  options: Readonly<Record<string, string | undefined>>,
): string {
  const query = Object.entries(options)
    .filter((option): option is [string, string] => option[1] !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `${baseUrl}${path}?${query.join('&')}`
}

export interface KeyRange {
  readonly after: string
  readonly before: string
}

/** All keys below one key: from `/` behind it to what sorts right after `/`. */
export function keyRange(key: string): KeyRange {
  const stem = key === '/' ? '' : key
  return { after: `${stem}/`, before: `${stem}0` }
}
