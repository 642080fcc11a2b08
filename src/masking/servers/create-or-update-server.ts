import { created, ok } from '../../api/operation.ts'
import { defaultLocation } from '../databases/database-row.ts'
import { checkConditions, entityTag } from '../entity-tag.ts'
import { namespaceOfRequest, operation, resourceApiVersions } from '../operation.ts'
import { canonicalNamespace, keyOf, readServerPlace, scopeOf, serverPath } from '../place.ts'
import { readTracked } from '../tracked-resource.ts'
import { lockServer, renderServer, serverAnswer, serverInput, serverTarget } from './server.ts'

const action = 'Vendor.Sql/servers/write'

export const createOrUpdateServer = operation({
  name: 'createOrUpdateServer',
  clause: 'MASK-107',
  summary: 'Declare a server',
  method: 'PUT',
  path: serverPath,
  apiVersions: resourceApiVersions,
  permission: { action, scope: scopeOf },
  body: serverInput,
  answers: { 200: serverAnswer, 201: serverAnswer },

  async run({ params, body, caller, tx, request, ports, audit }) {
    const { tenantId } = caller
    const sent = readServerPlace(params)
    const { location, tags } = readTracked(body)
    const before = await lockServer(tx, tenantId, sent)
    checkConditions(request, before?.version ?? null)
    const after = {
      place: before?.place ?? sent,
      location: location ?? before?.location ?? defaultLocation,
      tags: tags ?? before?.tags ?? {},
    }
    const { subscriptionId, resourceGroupName, serverName } = after.place
    const [row] = await tx<{ version: number }[]>`
      insert into server (tenant_id, key, subscription_id, resource_group, name, location, tags)
      values (${tenantId}, ${keyOf(sent)}, ${subscriptionId}, ${resourceGroupName}, ${serverName},
        ${after.location}, ${tx.json(after.tags)})
      on conflict (tenant_id, key) do update set location = excluded.location, tags = excluded.tags,
        version = nextval('resource_version')
      returning version`
    audit({
      action,
      target: serverTarget(sent),
      before: before && renderServer(before, canonicalNamespace),
      after: renderServer(after, canonicalNamespace),
    })
    const shown = renderServer(after, namespaceOfRequest({ request, ports }))
    return before ? ok(shown, entityTag(row?.version ?? 0)) : created(shown, entityTag(row?.version ?? 0))
  },
})
