import { type StartupPacket, writeCancel } from '../../wire/startup.ts'
import type { CancelKey } from '../login/authenticate.ts'
import { openBackend } from '../login/open-backend.ts'
import type { BackendAddress } from '../ports.ts'
import type { GatewayContext } from './gateway-context.ts'
import { digestId, idOf } from './session-ids.ts'

/**
 * A key of no session on this node is passed on to the others: a proxy may send the request anywhere. A key of no session
 * at all does nothing, and the client is not told. Clients need not wait for the end of it.
 */
export async function passCancel(
  key: Extract<StartupPacket, { kind: 'cancel' }>,
  gateway: GatewayContext,
): Promise<void> {
  const session = await gateway.findCancel(key)
  if (session?.key) await cancelStatement(session.address, session.key, gateway.limits.startupMs)
  if (!session) await gateway.ports.passCancel(digestId(idOf(key)))
}

/** Resolves when the database has taken the request. */
export async function cancelStatement(
  address: BackendAddress,
  key: CancelKey,
  timeoutMs: number,
): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs)
  const backend = await openBackend(address, signal)
  backend.write(writeCancel(key.processId, key.secret))
  await new Promise<void>((resolve) => {
    backend.once('close', () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
    backend.resume()
  })
  backend.destroy()
}
