import { join } from 'node:path'
import { lockUntilCommit } from '../../db/advisory-locks.ts'
import { writeAudit } from '../../db/audit.ts'
import type { Database, Tx } from '../../db/database.ts'
import { writePrivateFile } from '../../db/private-file.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import {
  type Administration,
  type AdministrationOptions,
  ensureAdministration,
} from './ensure-administration.ts'
import { type Administrator, findAdministrator, readFirstStart } from './read-first-start.ts'

export interface BootstrapOptions extends AdministrationOptions {
  readonly database: Database
  readonly dataDir: string
}

export const passwordFileName = 'administrator-password'
export const applicationFileName = 'administrator-application.json'

/** Creates, once, what a first call needs: the organization, an administrator, an administrative application. */
export async function bootstrap(options: BootstrapOptions): Promise<Administrator | undefined> {
  const { database, tenantId } = options
  if (!(await readFirstStart(database.sql, tenantId)))
    await database.transaction(async (tx) => {
      await lockFirstStart(tx)
      if (!(await readFirstStart(tx, tenantId))) await createFirst(tx, options)
    })
  return findAdministrator(database.sql, tenantId)
}

export async function lockFirstStart(tx: Tx): Promise<void> {
  await lockUntilCommit(tx, 'firstStart')
}

async function createFirst(tx: Tx, options: BootstrapOptions): Promise<void> {
  const { tenantId, dataDir } = options
  const created = await ensureAdministration(tx, options)
  const { administrator, application } = created
  const { appId, servicePrincipalId } = application
  const actor = { kind: 'service', tenantId, objectId: servicePrincipalId, applicationId: appId }
  const after = { administratorId: administrator.id, ...application }
  await writeAudit(tx, actor, 'first-start', { action: 'firstStart', target: '/organization', after })
  writeCredentials(dataDir, tenantId, created)
}

/**
 * Writes new secrets to disk, private to the operator, and returns the files. Call it before the transaction ends: no
 * account is created whose secret is lost.
 */
export function writeCredentials(
  dataDir: string,
  tenantId: string,
  { password, secret, application }: Administration,
): string[] {
  const files: string[] = []
  if (password !== undefined) files.push(writeSecret(join(dataDir, passwordFileName), password))
  if (secret !== undefined) {
    const credentials = { tenantId, clientId: application.appId, clientSecret: secret }
    files.push(writeSecret(join(dataDir, applicationFileName), JSON.stringify(credentials, null, 2)))
  }
  return files
}

function writeSecret(file: string, text: string): string {
  try {
    writePrivateFile(file, `${text}\n`)
    return file
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`${file} cannot be written (${code}).`, { cause })
  }
}
