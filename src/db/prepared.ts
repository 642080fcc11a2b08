import { createHash } from 'node:crypto'
import pg from 'pg'
import { sqlstate } from '../kernel/sqlstate.ts'

/** Each connection prepares what it is sent under a name once. Texts beyond this many are sent whole each time. */
const mostNames = 1_000
const names = new Map<string, string>()
let generation = 0

export function nameStatement(text: string): { name?: string } {
  let name = names.get(text)
  if (name === undefined && names.size < mostNames) {
    name = `m${generation}_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`
    names.set(text, name)
  }
  return name === undefined ? {} : { name }
}

/**
 * A statement prepared before a migration of another node can no longer run where its columns have changed. It runs
 * under a new name.
 */
export function renameIfStale(error: unknown): boolean {
  const isStale =
    error instanceof pg.DatabaseError &&
    error.code === sqlstate.featureNotSupported &&
    error.routine === 'RevalidateCachedQuery'
  if (isStale) {
    names.clear()
    generation++
  }
  return isStale
}
