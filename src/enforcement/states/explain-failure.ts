import pg from 'pg'
import { ConnectionFailure } from '../../db/sqlstate.ts'
import { Problem } from '../../kernel/problem.ts'

/** The database is not one in which masks can hold. */
export class Unfit extends Error {}

export interface Failure {
  /** It may go away by itself: the database is down, a lock is held. */
  readonly passing: boolean
  readonly reason: string
  /** What is to be granted can be found out. */
  readonly lacksPrivilege?: true
}

const passing: Readonly<Record<string, string>> = {
  '55P03': 'a table is locked by another session',
  '57P03': 'the database is starting or stopping',
  '57P01': 'the database ended the connection',
  '53300': 'the database has no connection left',
  '25006': 'the database is read-only at the moment',
  '40001': 'another session changed the same objects',
  '40P01': 'another session changed the same objects',
  XX000: 'another session changed the same objects',
}

const lasting: Readonly<Record<string, string>> = {
  '42501': 'the role of the binding lacks a privilege',
  '2BP01': 'other objects depend on a twin; drop them, or move them to the table',
  '28P01': 'the password of the binding is wrong',
  '28000': 'the database does not let the role of the binding in',
  '3D000': 'the database does not exist',
}

/** In words, without a value of anybody's row. Messages about privileges and dependencies name objects alone. */
export function explainFailure(error: unknown): Failure {
  const cause = error instanceof Problem && error.cause instanceof Error ? error.cause : error
  if (cause instanceof Unfit) return { passing: false, reason: cause.message }
  if (cause instanceof ConnectionFailure) return { passing: true, reason: 'the database cannot be reached' }
  const code =
    cause instanceof pg.DatabaseError || (cause instanceof Error && 'code' in cause) ? String(cause.code) : ''
  const text = cause instanceof Error ? cause.message : ''
  const known = passing[code] ?? lasting[code]
  const detail = code === '42501' || code === '2BP01' ? ` (${text})` : ''
  if (known)
    return {
      passing: code in passing,
      reason: known + detail,
      ...(code === '42501' && { lacksPrivilege: true }),
    }
  return {
    passing: error instanceof Problem,
    reason: code
      ? `PostgreSQL refused a statement (SQLSTATE ${code})`
      : 'an unexpected error; the log has it',
  }
}
