import { defaultLocation } from '../databases/database-row.ts'
import { checkConditions } from '../entity-tag.ts'
import { operation, originalApiVersions } from '../operation.ts'
import { keyOf, readServerPlace, scopeOf, serverPath } from '../place.ts'
import { answerStored, auditChange, siteOf } from '../resource.ts'
import { requireRole } from '../role-assignments/confirm-role.ts'
import { readTracked } from '../tracked-resource.ts'
import { renderServer, serverAnswer, serverInput, serverKind } from './server.ts'

const action = 'Vendor.Sql/servers/write'

export const createOrUpdateServer = operation({
  name: 'createOrUpdateServer',
  clause: 'MASK-107',
  summary: 'Declare a server',
  method: 'PUT',
  path: serverPath,
  apiVersions: originalApiVersions,
  permission: { action, scope: scopeOf },
  body: serverInput,
  answers: { 200: serverAnswer, 201: serverAnswer },

  async run(context) {
    const site = siteOf(context)
    const { tx, tenantId } = site
    const sent = readServerPlace(site.params)
    const { location, tags } = readTracked(context.body)
    const before = await serverKind.find(site, undefined, true)
    checkConditions(site.request, before?.version ?? null)
    const after = {
      place: before?.place ?? sent,
      location: location ?? before?.location ?? defaultLocation,
      tags: tags ?? before?.tags ?? {},
    }
    const { subscriptionId, resourceGroupName, serverName } = after.place
    const [row] = await tx<{ version: number }[]>`
      insert into server (tenant_id, key, subscription_id, resource_group, name, location, tags, created_at)
      values (${tenantId}, ${keyOf(sent)}, ${subscriptionId}, ${resourceGroupName}, ${serverName},
        ${after.location}, ${tx.json(after.tags)}, clock_timestamp())
      on conflict (tenant_id, key) do update set location = excluded.location, tags = excluded.tags,
        version = nextval('resource_version')
      returning version`
    await requireRole(site, action)
    auditChange(context.audit, action, renderServer, before, after)
    return answerStored(renderServer(after, site.namespace), row?.version ?? 0, before === null)
  },
})
