import { randomUUID } from 'node:crypto'
import { serviceAppId } from '../../src/directory/applications/api-principal.ts'
import type { TestService } from './service.ts'

export type TestDirectory = ReturnType<typeof fillDirectory>

/** Puts objects and edges straight into the tables, for tests that are about reading them. */
export function fillDirectory({ database: { sql }, tenantId }: Pick<TestService, 'database' | 'tenantId'>) {
  async function add(kind: string, properties: Record<string, unknown>, id = randomUUID()): Promise<string> {
    await sql`
      insert into directory_object (tenant_id, id, kind, properties)
      values (${tenantId}, ${id}, ${kind}, ${sql.json(properties as Parameters<typeof sql.json>[0])})`
    return id
  }

  return {
    add,
    user: (name = `user-${randomUUID()}`) =>
      add('user', { displayName: name, userPrincipalName: `${name}@example.com`, accountEnabled: true }),
    group: (properties: Record<string, unknown> = {}) =>
      add('group', {
        displayName: 'A group',
        mailNickname: `g-${randomUUID()}`,
        mailEnabled: false,
        securityEnabled: true,
        groupTypes: [],
        ...properties,
      }),
    unifiedGroup: (properties: Record<string, unknown> = {}) =>
      add('group', {
        displayName: 'A unified group',
        mailNickname: `u-${randomUUID()}`,
        mailEnabled: true,
        securityEnabled: false,
        groupTypes: ['Unified'],
        ...properties,
      }),
    role: () => add('directoryRole', { displayName: 'A role', roleTemplateId: randomUUID() }),
    device: () => add('device', { displayName: 'A device', deviceId: randomUUID() }),
    contact: () => add('orgContact', { displayName: 'A contact' }),
    servicePrincipal: () => add('servicePrincipal', { displayName: 'An app', appId: randomUUID() }),

    /** Makes the member a direct member of each container. */
    async join(memberId: string, ...containerIds: string[]): Promise<void> {
      for (const containerId of containerIds)
        await sql`
          insert into member_edge (tenant_id, container_id, member_id)
          values (${tenantId}, ${containerId}, ${memberId})`
    },

    async softDelete(id: string): Promise<void> {
      await sql`update directory_object set deleted_at = now() where tenant_id = ${tenantId} and id = ${id}`
    },

    /** The service principal whose app roles are the permissions of the API. */
    async findApi(): Promise<string> {
      const rows = await sql<{ id: string }[]>`
        select id from directory_object where kind = 'servicePrincipal' and app_id = ${serviceAppId}`
      return rows[0]?.id ?? ''
    },

    async directMembers(containerId: string): Promise<string[]> {
      const rows = await sql<{ id: string }[]>`
        select member_id as id from member_edge
        where tenant_id = ${tenantId} and container_id = ${containerId} order by member_id`
      return rows.map(({ id }) => id)
    },
  }
}
