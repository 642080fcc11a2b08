import { hash } from '@node-rs/argon2'
import type { Query } from '../../db/query.ts'

export async function setPassword(
  tx: Query,
  tenantId: string,
  userId: string,
  password: string,
): Promise<void> {
  const hashed = await hash(password)
  await tx`
    insert into user_password (tenant_id, user_id, hash) values (${tenantId}, ${userId}, ${hashed})
    on conflict (tenant_id, user_id) do update set hash = excluded.hash, changed_at = clock_timestamp()`
}
