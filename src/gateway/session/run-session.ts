import type { Socket } from 'node:net'
import { clientAddressOf, isOnThisMachine } from '../../kernel/client-address.ts'
import { isDirectoryName } from '../../kernel/uuid.ts'
import { type ByteReader, Ended } from '../../wire/byte-reader.ts'
import { fatal, negotiateVersion } from '../../wire/messages.ts'
import { Refusal, refuse } from '../../wire/refusal.ts'
import { latestMinor, longSecretMinor, type StartupPacket } from '../../wire/startup.ts'
import { asksReadOnly } from '../login/asks-read-only.ts'
import { findDatabase } from '../login/find-database.ts'
import { type Greeted, greetClient } from '../login/greet-client.ts'
import { logIn } from '../login/log-in.ts'
import { failureOf, RefusedByDatabase } from '../login/login-failures.ts'
import { refuseDelays } from '../login/refuse-delays.ts'
import type { RefusedLogin } from '../ports.ts'
import { passCancel } from './cancel.ts'
import type { ConnectionAttempt, GatewayContext } from './gateway-context.ts'
import { relaySession } from './relay-session.ts'

/** Secrets to cancel with: as PostgreSQL gives them to clients of protocol 3.0, and of 3.2. */
const shortSecretBytes = 4
const longSecretBytes = 32

const closeMs = 2_000
const mostNameBytes = 63

/** What is known of a login by the time that it fails. */
interface Visit extends Pick<RefusedLogin, 'name' | 'target' | 'principal'> {
  readonly isCancel: boolean
}

/** One client, from its first byte to its last. */
export async function runSession(plain: Socket, gateway: GatewayContext): Promise<void> {
  const abort = new AbortController()
  const readers: ByteReader[] = []
  const backends: Socket[] = []
  let client = plain
  let visit: Visit = { name: undefined, target: undefined, principal: undefined, isCancel: false }
  const learn = (more: Partial<Visit>) => {
    visit = { ...visit, ...more }
  }
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const refusal = new Refusal('StartupTimeout')
    late.reject(refusal)
    for (const reader of readers) reader.fail(refusal)
    abort.abort()
  }, gateway.limits.startupMs)
  plain.once('close', () => abort.abort())
  const run = async () => {
    const greeted = await greetClient(plain, {
      context: (name) => gateway.tlsContext(name),
      isProxied: gateway.isProxy(plain.remoteAddress ?? ''),
      signal: abort.signal,
      onReader: (reader) => void readers.push(reader),
      onClient: () => gateway.relocate(plain),
      onTls: (socket) => {
        client = socket
      },
    })
    learn({ isCancel: greeted.packet.kind === 'cancel' })
    if (greeted.packet.kind === 'cancel') return await passCancel(greeted.packet, gateway)
    learn({ name: greeted.packet.parameters.get('user') })
    if (!greeted.encrypted && !gateway.limits.allowPlaintext && !isOnThisMachine(plain)) refuse('NeedsTls')
    await gateway.introduce(plain, abort.signal)
    await serve(greeted, greeted.packet, gateway, {
      accepted: plain,
      signal: abort.signal,
      onBackend({ socket, reader }) {
        readers.push(reader)
        backends.push(socket)
        if (abort.signal.aborted) socket.destroy()
      },
      onLogin: () => clearTimeout(timer),
      onDatabase: ({ target }) => learn({ target }),
      onPrincipal: (principal) => learn({ principal }),
    })
  }
  try {
    // Some of what a login waits for cannot be called off.
    await Promise.race([run(), late.promise])
  } catch (error) {
    report(error, client, visit, gateway)
  } finally {
    clearTimeout(timer)
    for (const backend of backends) backend.destroy()
    if (!client.destroyed) {
      client.end()
      setTimeout(() => client.destroy(), closeMs).unref()
    }
  }
}

async function serve(
  client: Greeted,
  packet: Extract<StartupPacket, { kind: 'startup' }>,
  gateway: GatewayContext,
  attempt: ConnectionAttempt,
): Promise<void> {
  const name = checkStartup(packet)
  const database = await findDatabase(packet.parameters.get('database') || name, gateway.ports)
  attempt.onDatabase(database)
  const unknown = [...packet.parameters.keys()].filter((parameter) => parameter.startsWith('_pq_.'))
  if (packet.minor > latestMinor || unknown.length > 0)
    client.socket.write(negotiateVersion(Math.min(packet.minor, latestMinor), unknown))
  const given = new Set([...unknown, 'user', 'database'])
  const login = await logIn(client, {
    name,
    database,
    parameters: [...packet.parameters].filter(([parameter]) => !given.has(parameter)),
    isReadOnly: asksReadOnly(packet.parameters),
    limits: gateway.limits,
    ports: gateway.ports,
    signal: attempt.signal,
    onBackend: attempt.onBackend,
    onPrincipal: attempt.onPrincipal,
  })
  const secretBytes = packet.minor < longSecretMinor ? shortSecretBytes : longSecretBytes
  await relaySession(client, login, { database, gateway, attempt, secretBytes })
}

/** The role that the client wants to be. */
function checkStartup({ major, minor, parameters }: Extract<StartupPacket, { kind: 'startup' }>): string {
  if (major !== 3) refuse('UnsupportedVersion', { version: `${major}.${minor}` })
  if (!/^(|0|off|f|false|n|no)$/i.test(parameters.get('replication') ?? '')) refuse('Replication')
  refuseDelays(parameters)
  const name = parameters.get('user')
  if (!name) return refuse('NoUser')
  return isDirectoryName(name) ? name : cutName(name)
}

/** PostgreSQL takes the first bytes alone. Whatever goes by the name has to mean the role that logs in. */
function cutName(name: string): string {
  const bytes = Buffer.from(name)
  return bytes.length > mostNameBytes ? bytes.toString('utf8', 0, mostNameBytes) : name
}

function report(
  error: unknown,
  client: Socket,
  { isCancel, ...visit }: Visit,
  { ports }: GatewayContext,
): void {
  if (error instanceof Ended) {
    // The client left, or the database hung up in the middle of a login.
    if (!client.destroyed && client.writable) client.end(fatal(new Refusal('BackendLost')))
    return
  }
  const isKnown = error instanceof Refusal || error instanceof RefusedByDatabase
  if (!isKnown) ports.log.warn({ err: error }, 'a connection to the gateway failed')
  const refusal = error instanceof Refusal ? error : new Refusal('Failure')
  const { message: reason, cause } = isKnown ? error : refusal
  if (!isCancel)
    void ports
      .recordRefusal({ ...visit, failure: failureOf(error), from: clientAddressOf(client), reason, cause })
      .catch(() => {})
  // The client has been told.
  if (error instanceof RefusedByDatabase) return
  ports.metrics.refused(refusal.sqlstate)
  if (!client.destroyed && client.writable) client.end(fatal(refusal))
}
