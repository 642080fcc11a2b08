import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { knownPermissions } from '../../src/auth/known-permissions.ts'
import { assignAtRoot } from '../../src/masking/role-assignments/assigned-roles.ts'
import { addApplication } from '../../test/support/issuer.ts'
import { startTestService } from '../../test/support/service.ts'

/** The service on loopback with TLS by its own CA, and an application that may do everything. */
export async function startWalkedService() {
  const service = await startTestService()
  const { database, tenantId, dataDir, listeners } = service
  const { appId, secret, servicePrincipalId } = await addApplication(service, {
    permissions: Object.keys(knownPermissions).filter((name) => name !== 'user_impersonation'),
  })
  await database.transaction((tx) => assignAtRoot(tx, tenantId, 'Owner', servicePrincipalId))
  const ca = path.join(dataDir, 'walk-ca.pem')
  await writeFile(ca, listeners.ca ?? '')
  return {
    /** Every walk finds the service, its CA and the application here. */
    environment: {
      WALK_ORIGIN: service.httpsOrigin,
      WALK_TENANT: tenantId,
      WALK_CLIENT: appId,
      WALK_SECRET: secret,
      WALK_CA: ca,
      // Read by requests, by httpx and by Go.
      REQUESTS_CA_BUNDLE: ca,
      SSL_CERT_FILE: ca,
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}
