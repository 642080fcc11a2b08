import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { fail } from '../kernel/problem.ts'

/** Shorter answers fit into the buffers of the system, and are not counted. */
const countedBytes = 64 * 1024
const mostBytesOfCaller = 64 * 1024 * 1024
const retryAfterSeconds = 5

/** Bytes by caller. */
type Tally = Map<string, number>

const unread: Tally = new Map()
/** The share of each connection. Answers that wait behind others do not hear that their connection ended. */
const shares = new WeakMap<Socket, Tally>()

/** Refuses a caller who leaves so much unread that the answers of few of them would fill the memory. */
export function requireReading(callerId: string): void {
  if ((unread.get(callerId) ?? 0) > mostBytesOfCaller)
    fail('TooManyRequests', { seconds: retryAfterSeconds }, { retryAfterSeconds })
}

/** Counts an answer as the caller's until the client has read it, or is gone. */
export function countUnread(callerId: string, bytes: number, response: ServerResponse): void {
  const { socket } = response.req
  if (bytes < countedBytes || socket.destroyed) return
  const share = shares.get(socket) ?? watch(socket)
  const add = (change: number) => {
    for (const tally of [unread, share]) addTo(tally, callerId, change)
  }
  add(bytes)
  response.once('close', () => {
    if (shares.has(socket)) add(-bytes)
  })
}

function watch(socket: Socket): Tally {
  const share: Tally = new Map()
  shares.set(socket, share)
  socket.once('close', () => {
    shares.delete(socket)
    for (const [callerId, bytes] of share) addTo(unread, callerId, -bytes)
  })
  return share
}

function addTo(tally: Tally, callerId: string, change: number): void {
  const sum = (tally.get(callerId) ?? 0) + change
  if (sum > 0) tally.set(callerId, sum)
  else tally.delete(callerId)
}
