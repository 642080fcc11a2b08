import { createHash } from 'node:crypto'
import { knownPermissions } from '../../auth/known-permissions.ts'
import { appendChanges } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'

/** The client id under which tools look for the API itself, to find its permissions. */
export const serviceAppId = '00000003-0000-0000-c000-000000000000'

const permissionNamespace = Buffer.from('9f0d2c5e4b7a4e0c8d1f6a3b5c7e9d21', 'hex')

/** A stable id for a permission, the same in every installation (RFC 9562, version 5). */
export function permissionId(name: string): string {
  const bytes = createHash('sha1').update(permissionNamespace).update(name).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const namesById = new Map(Object.keys(knownPermissions).map((name) => [permissionId(name), name]))

export function findPermission(id: string): string | undefined {
  return namesById.get(id.toLowerCase())
}

/** The API as a service principal that lists its permissions; brought up to date at each start. */
export async function ensureApiPrincipal(tx: Tx, tenantId: string): Promise<void> {
  const appRoles = Object.entries(knownPermissions).map(([value, { description }]) => ({
    id: permissionId(value),
    allowedMemberTypes: ['Application'],
    description,
    displayName: description,
    isEnabled: true,
    origin: 'Application',
    value,
  }))
  const rows = await tx<{ id: string; version: number; created: boolean }[]>`
    insert into directory_object as present (tenant_id, id, kind, properties)
    values (${tenantId}, gen_random_uuid(), 'servicePrincipal', ${tx.json({
      appId: serviceAppId,
      displayName: 'Masquerade',
      appDisplayName: 'Masquerade',
      appOwnerOrganizationId: tenantId,
      servicePrincipalNames: [serviceAppId],
      appRoles,
    })})
    on conflict (tenant_id, app_id) where kind = 'servicePrincipal' and deleted_at is null do update
    set properties = present.properties || ${tx.json({ appRoles })}::jsonb, version = present.version + 1
    where present.properties -> 'appRoles' is distinct from ${tx.json(appRoles)}::jsonb
    returning id, version, xmax = 0 as created`
  await appendChanges(
    tx,
    tenantId,
    rows.map(({ id, version, created }) => ({
      entity: 'servicePrincipal',
      entityId: id,
      kind: created ? 'created' : 'updated',
      data: { version },
    })),
  )
}
