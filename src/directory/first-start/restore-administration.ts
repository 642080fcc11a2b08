import { firstPartyApplications } from '../../auth/first-party.ts'
import { writeAudit } from '../../db/audit.ts'
import { appendChanges } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'
import { ensureApiPrincipal } from '../applications/api-principal.ts'
import { lockFirstStart } from './bootstrap.ts'
import {
  type Administration,
  type AdministrationOptions,
  ensureAdministration,
} from './ensure-administration.ts'
import { ensureRegistration, type Repairs } from './repairs.ts'

/** Brings back the administrator, the administrative application and the product's own clients; audited. */
export async function restoreAdministration(tx: Tx, options: AdministrationOptions): Promise<Administration> {
  const { tenantId } = options
  await lockFirstStart(tx)
  await ensureApiPrincipal(tx, tenantId)
  const repairs: Repairs = { tx, tenantId, changes: [], steps: [] }
  for (const { appId, displayName, ...properties } of Object.values(firstPartyApplications))
    await ensureRegistration(repairs, { appId, displayName, properties })
  await appendChanges(tx, tenantId, repairs.changes)
  const administration = await ensureAdministration(tx, options)
  const { administrator, application, password, secret } = administration
  const steps = [...repairs.steps, ...administration.steps]
  const after = {
    administrator,
    application,
    steps,
    newPassword: password !== undefined,
    newSecret: secret !== undefined,
  }
  await writeAudit(
    tx,
    {
      kind: 'operator',
      tenantId,
      objectId: administrator.id,
      applicationId: firstPartyApplications.cli.appId,
    },
    'masquerade admin',
    { action: 'restoreAdministration', target: '/organization', after },
  )
  return { ...administration, steps }
}
