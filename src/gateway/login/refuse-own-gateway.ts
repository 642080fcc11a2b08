import type { Socket } from 'node:net'
import { unmapAddress } from '../../kernel/network.ts'
import { refuse } from '../../wire/refusal.ts'
import type { BackendAddress } from '../ports.ts'

/**
 * Refuses a database that is bound to the address at which its client reached this gateway: each login would open the next one, and
 * keep the logins of others waiting for as long as the service runs.
 */
export function refuseOwnGateway(client: Socket, address: BackendAddress): void {
  const here = unmapAddress(client.localAddress ?? '')
  const isHere = [address, ...(address.others ?? [])].some(
    ({ port, addresses }) => port === client.localPort && addresses.some((one) => unmapAddress(one) === here),
  )
  if (isHere) refuse('BackendUnreachable', { why: 'it is bound to this gateway itself' })
}
