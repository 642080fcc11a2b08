import { ConnectionFailure } from '../../db/sqlstate.ts'
import { Problem } from '../../kernel/problem.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import { Unfit } from '../../masks/unfit.ts'
import { NameHeld } from '../../sessions/holder.ts'

interface Failure {
  /** It may go away by itself: the database is down, a lock is held. */
  readonly passing: boolean
  readonly reason: string
  /** The preflight can tell which privileges are missing. */
  readonly lacksPrivilege?: true
}

const passing: Readonly<Record<string, string>> = {
  [sqlstate.lockNotAvailable]: 'a table is locked by another session',
  [sqlstate.cannotConnectNow]: 'the database is starting or stopping',
  [sqlstate.adminShutdown]: 'the database ended the connection',
  [sqlstate.tooManyConnections]: 'the database has no connection left',
  [sqlstate.outOfMemory]: 'the server has no lock left',
  [sqlstate.readOnlyTransaction]: 'the database is read-only at the moment',
  [sqlstate.serializationFailure]: 'another session changed the same objects',
  [sqlstate.deadlockDetected]: 'another session changed the same objects',
  [sqlstate.internalError]: 'another session changed the same objects',
  [sqlstate.idleInTransactionTimeout]: 'the service was held up',
  EUNDERWAY: 'another node is changing the database',
}

const lasting: Readonly<Record<string, string>> = {
  [sqlstate.insufficientPrivilege]: 'the role of the binding lacks a privilege',
  [sqlstate.dependentObjectsExist]: 'other objects depend on a twin; drop them, or move them to the table',
  [sqlstate.invalidPassword]: 'the password of the binding is wrong',
  [sqlstate.invalidAuthorization]: 'the database does not let the role of the binding in',
  [sqlstate.invalidCatalogName]: 'the database does not exist',
}

/** Refusals of our own: neither a password nor anything else was sent. */
const unreachable: Readonly<Record<string, string>> = {
  EHOSTREFUSED: 'the host of the binding is not one that this service may be bound to',
  EOWNSTORE: 'the database of the binding is the one of this service itself',
  EANSWER: 'the database does not answer as PostgreSQL does',
  EFOREIGN: 'a host of the binding belongs to another cluster, and no other takes writes',
  EWEAKAUTH: 'the database asks for the password by a method that the binding does not allow',
}

/** A reason in words, without values of rows. Messages about privileges and dependencies name objects alone. */
export function explainFailure(error: unknown): Failure {
  const cause = error instanceof Problem && error.cause instanceof Error ? error.cause : error
  if (cause instanceof Unfit || cause instanceof NameHeld)
    return { passing: cause instanceof NameHeld, reason: cause.message }
  if (cause instanceof ConnectionFailure) {
    const reason = unreachable[cause.code] ?? 'the database cannot be reached'
    return { passing: true, reason }
  }
  const code = codeOf(cause)
  const known = passing[code] ?? lasting[code]
  if (!known) {
    const reason = code
      ? `PostgreSQL refused a statement (SQLSTATE ${code})`
      : 'an unexpected error; the log has it'
    return { passing: error instanceof Problem, reason }
  }
  const lacksPrivilege = code === sqlstate.insufficientPrivilege
  const isNamed = (lacksPrivilege || code === sqlstate.dependentObjectsExist) && cause instanceof Error
  const reason = isNamed ? `${known} (${cause.message})` : known
  return { passing: code in passing, reason, ...(lacksPrivilege && { lacksPrivilege }) }
}
