import assert from 'node:assert/strict'
import pg from 'pg'
import { policyUrl, type useMasking } from './masking.ts'

/**
 * A binding that was stored before its place was refused, or whose name leads elsewhere by now: gateway and enforcement hold
 * to the hosts that may be bound.
 */
export async function refuseStored(
  { send, service, putPolicy }: ReturnType<typeof useMasking>,
  db: string,
  place: { host?: string; port?: number },
): Promise<void> {
  const { database, gateway } = service()
  const name = db.split('/').at(-1) ?? ''
  await database.sql`
    update masked_database set binding = binding || ${JSON.stringify(place)}::text::jsonb,
      binding_version = binding_version + 1, binding_reached_at = now()
    where lower(name) = ${name}`
  const client = new pg.Client({
    host: '127.0.0.1',
    port: gateway.port,
    user: 'u',
    password: 'p',
    // It took no shorter name.
    database: `sub-1/group-1/srv/${name}`,
  })
  await assert.rejects(client.connect(), { code: '08001', message: /unknown or not allowed/ })
  await putPolicy(db, { dataMaskingState: 'Enabled' })
  const state = await send('GET', `${policyUrl(db)}/enforcement`)
  assert.match(state.body.reason, /not one that this service may be bound to/)
}
