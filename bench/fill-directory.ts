import type { Query } from '../src/db/query.ts'

const levels = 8
const directGroupsPerUser = 4

/**
 * Every group is in one of the next level, every tenth in two; users are in groups of the lowest level. Triggers rest and
 * indexes are built afterwards: a million users by way of them take a quarter of an hour.
 */
export async function fillDirectory(tx: Query, tenantId: string, userCount: number): Promise<void> {
  const groupsPerLevel = Math.floor(userCount / 80)
  const groups = levels * groupsPerLevel
  await tx`set local session_replication_role = replica`
  await tx`set local statement_timeout = 0`
  await tx`set local maintenance_work_mem = '256MB'`
  const indexes = await tx<{ name: string; definition: string }[]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
    where indrelid in ('directory_object'::regclass, 'member_edge'::regclass) and not indisprimary and not exists (
      select from pg_constraint where conindid = indexrelid)`
  for (const { name } of indexes) await tx.unsafe(`drop index ${name}`)
  await tx`
    insert into directory_object (tenant_id, id, kind, properties)
    select ${tenantId}, md5('group' || n)::uuid, 'group', jsonb_build_object(
      'displayName', 'Group ' || n, 'mailNickname', 'group' || n, 'groupTypes', '[]'::jsonb,
      'securityEnabled', n % 2 = 0, 'mailEnabled', n % 2 = 1)
    from generate_series(0, ${groups - 1}::int) as n`
  await tx`
    insert into member_edge (tenant_id, container_id, member_id)
    select distinct ${tenantId}::uuid, md5('group' || ((n / ${groupsPerLevel}::int + 1) * ${groupsPerLevel}::int
        + (hashint4(n * 7 + k) & 2147483647) % ${groupsPerLevel}::int))::uuid, md5('group' || n)::uuid
    from generate_series(0, ${groups - groupsPerLevel - 1}::int) as n, generate_series(1, 2) as k
    where k = 1 or n % 10 = 0`
  await tx`
    insert into directory_object (tenant_id, id, kind, properties)
    select ${tenantId}, md5('user' || n)::uuid, 'user', jsonb_build_object(
      'displayName', 'User ' || n, 'userPrincipalName', 'user' || n || '@example.com', 'accountEnabled', true)
    from generate_series(1, ${userCount}::int) as n`
  await tx`
    insert into member_edge (tenant_id, container_id, member_id)
    select distinct ${tenantId}::uuid,
      md5('group' || (hashint4(n * 31 + k) & 2147483647) % ${groupsPerLevel}::int)::uuid, md5('user' || n)::uuid
    from generate_series(1, ${userCount}::int) as n, generate_series(1, ${directGroupsPerUser}::int) as k`
  for (const { definition } of indexes) await tx.unsafe(definition)
}
