import type { Auth } from '../auth/open-auth.ts'
import type { Database } from '../db/database.ts'
import { awaitsSample, noteSample } from '../db/instance.ts'
import type { Store } from '../db/store.ts'
import type { Listeners } from '../http/listen.ts'
import { issueOperatorToken } from '../issuer/operator-token.ts'
import { moveBindings } from '../masking/binding/move-bindings.ts'
import type { Settings } from '../settings.ts'
import { bringShop, readShopAccess, writeShopAccess } from './shop.ts'

interface Running {
  readonly listeners: Listeners
  readonly store: Store
  readonly auth: Auth
  /** Of the first start. */
  readonly administrator: { readonly id: string } | undefined
}

/** Sample data, once, on the first start of an embedded database, unless the operator wants none. */
export async function bringSample(settings: Settings, service: Running, onProgress: (step: string) => void) {
  const { store, auth, administrator } = service
  const { database, server, tenantId } = store
  if (!server) return
  if (!(await awaitsSample(database.sql))) return await followPort(settings.dataDir, server, database)
  if (settings.demo) {
    onProgress('making a sample database')
    const origin = auth.identity.origin()
    const token = await issueOperatorToken(
      { ...auth, origin, tenantId, sql: database.sql },
      { for: { kind: 'administrator' }, permissions: [], lifetimeSeconds: 300, audience: undefined },
    )
    await bringShop({
      ...server,
      administratorId: administrator?.id,
      dataDir: settings.dataDir,
      call: caller(service, token),
    })
  }
  await noteSample(database.sql)
}

/** The embedded server takes another port when its own is in use; the sample's bindings follow. */
async function followPort(
  dataDir: string,
  { host, port }: { host: string; port: number },
  { sql }: Database,
) {
  const shop = readShopAccess(dataDir)
  if (!shop || shop.port === port) return
  await moveBindings(sql, { host, port: shop.port, database: shop.database }, port)
  writeShopAccess(dataDir, { ...shop, port })
}

function caller({ listeners }: Running, token: string) {
  return async (method: string, path: string, body: unknown): Promise<void> => {
    const response = await fetch(`${listeners.httpOrigin}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const enforcement = response.headers.get('x-masquerade-enforcement') ?? 'Enforced'
    if (!['Enforced', 'NoRules'].includes(enforcement))
      throw new Error(`the sample is not masked: ${path} is ${enforcement}`)
    if (!response.ok) throw new Error(`the sample was refused: ${method} ${path}: ${await response.text()}`)
  }
}
