import { existsSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { loadSecretKeys, readSecretKeys } from '../auth/secret-key.ts'
import { discardSealedKeys, openSigningKeys } from '../auth/signing-keys.ts'
import { type Database, openDatabase } from '../db/database.ts'
import { readSealingKey, writeSealingKey } from '../db/instance.ts'
import { openStore } from '../db/store.ts'
import { writeCredentials } from '../directory/first-start/bootstrap.ts'
import type { Administration } from '../directory/first-start/ensure-administration.ts'
import { restoreAdministration } from '../directory/first-start/restore-administration.ts'
import { discardSealedState, loadIssuerSecret } from '../issuer/issuer-secret.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { createSecretBox, nameKey } from '../kernel/secret-box.ts'
import { assignAtRoot } from '../masking/role-assignments/assigned-roles.ts'
import type { Settings } from '../settings.ts'
import { commandOf } from './command.ts'
import { addressOf, readTenant } from './operator.ts'
import { requireOwnDirectory } from './own-directory.ts'
import { currentSettings, report } from './surroundings.ts'

const options = {
  'new-credentials': { type: 'boolean' },
  'replace-keys': { type: 'boolean' },
  json: { type: 'boolean' },
} as const

export const admin = commandOf({
  name: 'admin',
  summary: 'Bring back a working administrator, whatever was deleted',
  help: `
Usage: masquerade admin restore [--new-credentials] [--replace-keys]

Brings back what administration needs, and leaves what is right as it is: the administrator of the first start (there,
enabled, Global Administrator, Owner at '/'), the application 'Masquerade administration' with every permission, the
product's own applications, a key that signs tokens. It works for the user who can read the data directory and reach
the database, whether the service runs or not. It is audited.

  --new-credentials  Another password for the administrator and another secret for the application, written to files in
                     the data directory. The earlier password, secrets and certificates end, with all tokens of both.
  --replace-keys     For a lost secret key: deletes the signing keys and sign-ins that were sealed with it, and makes
                     new ones. Passwords of bound databases are lost with that key: bind these databases anew.`,
  options,
  verbs: {
    restore: {
      async run(values) {
        const settings = currentSettings()
        await using access = await openAccess(settings)
        await restoreKeys(access.database, settings, values['replace-keys'] ?? false)
        const outcome = await restore(access, settings, values['new-credentials'] ?? false)
        const { steps, files, administrator } = outcome
        const data = { administrator: administrator.userPrincipalName, steps, files }
        report(values, data, describe(outcome))
        return 0
      },
    },
  },
})

interface Access extends AsyncDisposable {
  readonly database: Database
  readonly tenantId: string
}

/** The database of the service; the embedded server is started where the service does not run. */
async function openAccess(settings: Settings): Promise<Access> {
  await requireOwnDirectory(settings.dataDir)
  const database = openDatabase({ url: addressOf(settings), poolSize: 2 })
  try {
    const tenantId = await readTenant(database, settings)
    return { database, tenantId, [Symbol.asyncDispose]: () => database.close() }
  } catch (error) {
    await database.close()
    if (settings.databaseUrl !== undefined) throw error
    const log = pino({ level: 'silent' })
    const store = await openStore(settings, { log, onProgress() {}, onFatal() {} })
    return { database: store.database, tenantId: store.tenantId, [Symbol.asyncDispose]: () => store.close() }
  }
}

/** A key that signs and the secret of the token service are made where there are none. */
async function restoreKeys(database: Database, settings: Settings, replace: boolean): Promise<void> {
  const { dataDir, secretKeyFile, keyRotationDays: rotationDays } = settings
  const loadKeys = replace ? loadSecretKeys : readSecretKeys
  if (!replace && secretKeyFile === undefined && !existsSync(join(dataDir, 'secret.key')))
    throw new OperatorError(
      `${join(dataDir, 'secret.key')} is missing. Bring it back from a backup, or say --replace-keys.`,
    )
  const keys = loadKeys(dataDir, secretKeyFile)
  const sealing = await readSealingKey(database.sql)
  const isKnown = keys.some((key) => nameKey(key) === sealing)
  if (replace && sealing !== undefined && !isKnown) await writeSealingKey(database.sql, null)
  const secretBox = createSecretBox(keys, isKnown ? sealing : undefined)
  if (replace) {
    await discardSealedKeys(database.sql, secretBox)
    await discardSealedState(database.sql, secretBox)
  }
  const log = pino({ level: 'silent' })
  const signingKeys = await openSigningKeys({ database, secretBox, rotationDays, log })
  signingKeys.close()
  await loadIssuerSecret(database.sql, secretBox)
}

interface Outcome extends Administration {
  readonly files: readonly string[]
}

async function restore(
  { database, tenantId }: Access,
  { tenantDomain: domain, dataDir }: Settings,
  newCredentials: boolean,
): Promise<Outcome> {
  return await database.transaction(async (tx) => {
    const restored = await restoreAdministration(tx, {
      tenantId,
      domain,
      newCredentials,
      assignOwner: (within, tenant, id) => assignAtRoot(within, tenant, 'Owner', id),
    })
    return { ...restored, files: writeCredentials(dataDir, tenantId, restored) }
  })
}

function describe({ steps, files, administrator }: Outcome): string {
  const done = steps.length > 0 ? steps.map((step) => `  ${step}`) : ['  nothing was missing']
  const written = files.map((file) => `  wrote ${file}`)
  return [`The administrator is ${administrator.userPrincipalName}.`, ...done, ...written, ''].join('\n')
}
