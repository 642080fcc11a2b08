import { fail } from '../../kernel/problem.ts'
import { defaultLocation } from '../databases/database-row.ts'
import { checkConditions } from '../entity-tag.ts'
import { operation, originalApiVersions } from '../operation.ts'
import { keyOf, readServerPlace, scopeOf, serverPath } from '../place.ts'
import { answerStored, auditChange, type Site, siteOf } from '../resource.ts'
import { requireRole } from '../role-assignments/confirm-role.ts'
import { readTracked } from '../tracked-resource.ts'
import { renderServer, type Server, serverAnswer, serverInput, serverKind } from './server.ts'

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
    const sent = readServerPlace(site.params)
    const { location, tags } = readTracked(context.body)
    const created = { place: sent, location: location ?? defaultLocation, tags: tags ?? {} }
    const found = await serverKind.find(site, undefined, true)
    const inserted = found ? undefined : await insertServer(site, created)
    // Another request may have declared it since: then this one changes what that one left.
    const before = inserted === undefined ? (found ?? (await findDeclaredMeanwhile(site))) : null
    checkConditions(site.request, before?.version ?? null)
    const after = before
      ? { place: before.place, location: location ?? before.location, tags: tags ?? before.tags }
      : created
    const version = inserted ?? (await updateServer(site, after))
    await requireRole(site, action)
    auditChange(context.audit, action, renderServer, before, after)
    return answerStored(renderServer(after, site.namespace), version, before === null)
  },
})

type Wanted = Omit<Server, 'version'>

/** The version of the new server; undefined where there is one by now. */
async function insertServer({ tx, tenantId }: Site, server: Wanted): Promise<number | undefined> {
  const { subscriptionId, resourceGroupName, serverName } = server.place
  const [row] = await tx<{ version: number }[]>`
    insert into server (tenant_id, key, subscription_id, resource_group, name, location, tags, created_at)
    values (${tenantId}, ${keyOf(server.place)}, ${subscriptionId}, ${resourceGroupName}, ${serverName},
      ${server.location}, ${tx.json(server.tags)}, clock_timestamp())
    on conflict (tenant_id, key) do nothing returning version`
  return row?.version
}

async function findDeclaredMeanwhile(site: Site): Promise<Server> {
  const server = await serverKind.find(site, undefined, true)
  return server ?? fail('Conflict', { reason: 'The server was deleted meanwhile.' })
}

async function updateServer({ tx, tenantId }: Site, { place, location, tags }: Wanted): Promise<number> {
  const [row] = await tx<{ version: number }[]>`
    update server set location = ${location}, tags = ${tx.json(tags)}, version = nextval('resource_version')
    where tenant_id = ${tenantId} and key = ${keyOf(place)} returning version`
  return row?.version ?? 0
}
