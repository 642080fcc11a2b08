import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isLoopbackAddress } from './network.ts'

/** Clients of connections and requests that a trusted proxy passed on. */
const told = new WeakMap<Socket | IncomingMessage, string>()

export function setClientAddress(of: Socket | IncomingMessage, address: string): void {
  told.set(of, address)
}

/** The address of the client: as a trusted proxy told it, else that of the connection. */
export function clientAddressOf(of: Socket | IncomingMessage): string {
  return told.get(of) ?? ('socket' in of ? of.socket.remoteAddress : of.remoteAddress) ?? ''
}

/**
 * True where nothing leaves this machine: a proxy on this machine may pass on what came over a network, and a proxy
 * elsewhere may say that its client is on its own machine.
 */
export function isOnThisMachine(socket: Socket): boolean {
  return isLoopbackAddress(socket.remoteAddress ?? '') && isLoopbackAddress(clientAddressOf(socket))
}
