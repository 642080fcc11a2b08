/** The SQLSTATEs that we send or act on, by PostgreSQL's own condition names. */
export const sqlstate = {
  connectionFailure: '08006',
  unableToConnect: '08001',
  protocolViolation: '08P01',
  featureNotSupported: '0A000',
  uniqueViolation: '23505',
  readOnlyTransaction: '25006',
  idleInTransactionTimeout: '25P03',
  invalidAuthorization: '28000',
  invalidPassword: '28P01',
  dependentObjectsExist: '2BP01',
  invalidCatalogName: '3D000',
  invalidSchemaName: '3F000',
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  insufficientPrivilege: '42501',
  undefinedObject: '42704',
  duplicateObject: '42710',
  undefinedTable: '42P01',
  duplicateSchema: '42P06',
  duplicateTable: '42P07',
  diskFull: '53100',
  outOfMemory: '53200',
  tooManyConnections: '53300',
  programLimitExceeded: '54000',
  tooManyColumns: '54011',
  objectNotInPrerequisiteState: '55000',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
  adminShutdown: '57P01',
  cannotConnectNow: '57P03',
  idleSessionTimeout: '57P05',
  internalError: 'XX000',
} as const

/** The `code` of an error: a SQLSTATE or the name of a system error; empty where it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
