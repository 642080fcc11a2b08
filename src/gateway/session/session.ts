import { randomBytes, randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { type ByteReader, Ended } from '../../wire/byte-reader.ts'
import { fatal, negotiateVersion } from '../../wire/messages.ts'
import { Refusal, refuse } from '../../wire/refusal.ts'
import { type StartupPacket, writeCancel } from '../../wire/startup.ts'
import type { AuditWriter } from '../audit/audit-writer.ts'
import { askAboutItself, beginSession, type CancelKey } from '../login/authenticate.ts'
import { type Greeted, greetClient } from '../login/greet-client.ts'
import { type Arrival, type Backend, logIn } from '../login/log-in.ts'
import { openBackend } from '../login/open-backend.ts'
import type { BackendAddress, FoundDatabase, GatewayLimits, GatewayPorts } from '../ports.ts'
import type { MaskCache } from '../rewrite/mask-cache.ts'
import { Relay } from './relay.ts'
import type { Cancellable } from './session-registry.ts'
import { StatementTexts } from './statement-texts.ts'

/** What all sessions of a gateway share. */
export interface GatewayContext {
  readonly ports: GatewayPorts
  readonly limits: GatewayLimits
  readonly masks: MaskCache
  readonly auditWriter: AuditWriter
  context(): SecureContext
  /** Somebody has said who it is: waits for its turn to log in, or refuses it. */
  introduce(accepted: Socket, signal: AbortSignal): Promise<void>
  /** Counts a session in once it is logged in, or refuses it. Returns how it is counted out. */
  admit(session: AdmittedSession): Promise<() => void>
  findCancel(processId: number, secret: Buffer): Promise<Cancellable | undefined>
}

export interface AdmittedSession extends Cancellable {
  readonly ownKey: CancelKey
  readonly role: string
  /** The principal, in whatever database, or the role of this one. */
  readonly countedAs: string
  readonly relay: Relay
  /** The connection as it was accepted. */
  readonly accepted: Socket
}

const closeMs = 2_000

/** One client, from its first byte to its last. */
export async function runSession(plain: Socket, gateway: GatewayContext): Promise<void> {
  const abort = new AbortController()
  const readers: ByteReader[] = []
  const backends: Socket[] = []
  let client = plain
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
      context: () => gateway.context(),
      allowPlaintext: gateway.limits.allowPlaintext,
      signal: abort.signal,
      onReader: (reader) => void readers.push(reader),
      onTls: (socket) => {
        client = socket
      },
    })
    if (greeted.packet.kind === 'cancel') return await passCancel(greeted.packet, gateway)
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
    })
  }
  try {
    // Some of what a login waits for cannot be called off.
    await Promise.race([run(), late.promise])
  } catch (error) {
    report(error, client, gateway)
  } finally {
    clearTimeout(timer)
    for (const backend of backends) backend.destroy()
    if (!client.destroyed) {
      client.end()
      setTimeout(() => client.destroy(), closeMs).unref()
    }
  }
}

interface ConnectionAttempt {
  readonly accepted: Socket
  readonly signal: AbortSignal
  onBackend(backend: Backend): void
  onLogin(): void
}

async function serve(
  client: Greeted,
  packet: Extract<StartupPacket, { kind: 'startup' }>,
  gateway: GatewayContext,
  attempt: ConnectionAttempt,
): Promise<void> {
  const name = checkStartup(packet)
  const database = await findDatabase(packet.parameters.get('database') || name, gateway.ports)
  const unknown = [...packet.parameters.keys()].filter((parameter) => parameter.startsWith('_pq_.'))
  if (packet.minor > 0 || unknown.length > 0) client.socket.write(negotiateVersion(unknown))
  const given = new Set([...unknown, 'user', 'database'])
  const arrival = await logIn(client, {
    name,
    database,
    parameters: [...packet.parameters].filter(([parameter]) => !given.has(parameter)),
    limits: gateway.limits,
    ports: gateway.ports,
    signal: attempt.signal,
    onBackend: attempt.onBackend,
  })
  if (arrival) await relaySession(client, arrival, { database, gateway, attempt })
}

async function relaySession(
  client: Greeted,
  { backend, role, principal }: Arrival,
  {
    database,
    gateway,
    attempt,
  }: { database: FoundDatabase; gateway: GatewayContext; attempt: ConnectionAttempt },
): Promise<void> {
  const { ports, limits, masks } = gateway
  const random = randomBytes(8)
  const ownKey = { processId: random.readUInt32BE(0) & 0x7fffffff, secret: random.subarray(4) }
  const entry = await beginSession(client, backend, ownKey)
  if (!entry) return
  const { searchPath, isOfLoginRole } = await askAboutItself(backend)
  if (isOfLoginRole && !principal) refuse('TokenNeeded', { role })
  const reported = entry.parameters.get('search_path')
  const held = await masks.hold(database.id, role)
  const texts = new StatementTexts({
    masks: () => held.current(),
    role,
    database: database.address.database,
    parameters: entry.parameters.set('search_path', reported ?? searchPath),
    hearsPath: reported !== undefined,
    log: ports.log,
  })
  const record = {
    id: randomUUID(),
    role,
    principal,
    database,
    from: client.socket.remoteAddress ?? '',
    encrypted: client.encrypted,
  }
  const { touches, end } = gateway.auditWriter.open(record)
  const relay = new Relay({
    client: client.socket,
    backend: backend.socket,
    texts,
    touches,
    idleMs: limits.idleMs,
    maxMessageBytes: limits.messageBytes,
    onStatement: (outcome) => ports.metrics.statement(outcome),
    onFailure: (err) => ports.log.error({ err }, 'a session of the gateway failed'),
    // Where the database is gone as well, so is the statement.
    onAbandoned: () =>
      void (entry.key && cancel(database.address, entry.key, limits.startupMs).catch(() => {})),
  })
  let release = () => {}
  try {
    release = await gateway.admit({
      ownKey,
      key: entry.key,
      address: database.address,
      role,
      countedAs: principal?.id ?? `${database.id} ${role}`,
      relay,
      accepted: attempt.accepted,
    })
    checkPresence(attempt.signal)
    await ports.recordSession(record)
    using _ = { [Symbol.dispose]: end }
    checkPresence(attempt.signal)
    attempt.onLogin()
    client.socket.write(entry.ready)
    for (const { socket, reader } of [client, backend]) {
      const unread = reader.release()
      if (unread.length > 0) socket.unshift(unread)
    }
    await relay.run()
  } finally {
    release()
    held.release()
  }
}

/** Nobody waits for the session any more. */
function checkPresence({ aborted }: AbortSignal): void {
  if (aborted) throw new Ended('the client left during the login')
}

/** The role that the client wants to be. */
function checkStartup({ major, minor, parameters }: Extract<StartupPacket, { kind: 'startup' }>): string {
  if (major !== 3) refuse('UnsupportedVersion', { version: `${major}.${minor}` })
  if (!/^(|0|off|f|false|n|no)$/i.test(parameters.get('replication') ?? '')) refuse('Replication')
  const role = parameters.get('user')
  return role ? role : refuse('NoUser')
}

async function findDatabase(name: string, ports: GatewayPorts): Promise<FoundDatabase> {
  const found = await ports.findDatabases(name)
  const [first, ...others] = found
  if (!first) return refuse('UnknownDatabase', { name })
  if (others.length > 0) refuse('AmbiguousDatabase', { name, form: nameLonger(name) })
  return first
}

/** Which of them there are is for those who are logged in. */
function nameLonger(name: string): string {
  const form = ['subscription', 'group', 'server', 'database']
  return form.slice(Math.max(form.length - name.split('/').length - 1, 0)).join('/')
}

/** A key that is nobody's does nothing, and nobody is told which it is. Clients need not wait for the end of it. */
async function passCancel(
  { processId, secret }: Extract<StartupPacket, { kind: 'cancel' }>,
  gateway: GatewayContext,
): Promise<void> {
  const session = await gateway.findCancel(processId, secret)
  if (session?.key) await cancel(session.address, session.key, gateway.limits.startupMs)
}

/** Resolves when the database has heard of it. */
async function cancel(address: BackendAddress, key: CancelKey, timeoutMs: number): Promise<void> {
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

function report(error: unknown, client: Socket, { ports }: GatewayContext): void {
  if (error instanceof Ended) {
    // The client left, or the database hung up in the middle of a login.
    if (!client.destroyed && client.writable) client.end(fatal(new Refusal('BackendLost')))
    return
  }
  const refusal = error instanceof Refusal ? error : new Refusal('Failure')
  ports.metrics.refused(refusal.sqlstate)
  if (error instanceof Refusal) ports.log.info({ reason: error.reason, err: error.cause }, error.message)
  else ports.log.warn({ err: error }, 'a connection to the gateway failed')
  if (!client.destroyed && client.writable) client.end(fatal(refusal))
}
