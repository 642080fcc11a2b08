import type { Socket } from 'node:net'
import { isSamePlace } from '../../db/database-url.ts'
import { clientAddressOf, isOnThisMachine } from '../../kernel/client-address.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import { isDirectoryName, splitCredentialName } from '../../kernel/uuid.ts'
import { ByteReader } from '../../wire/byte-reader.ts'
import { int32, message } from '../../wire/messages.ts'
import { refuse } from '../../wire/refusal.ts'
import { writeStartup } from '../../wire/startup.ts'
import type {
  BackendAddress,
  FoundDatabase,
  GatewayLimits,
  GatewayPorts,
  LoginProof,
  Principal,
} from '../ports.ts'
import { passLogin, type Side } from './authenticate.ts'
import { DirectoryLogin } from './directory-login.ts'
import type { Greeted } from './greet-client.ts'
import { isGuess } from './login-failures.ts'
import { openAnyBackend, openBackend } from './open-backend.ts'
import { proveLogin } from './prove-login.ts'
import { refuseOwnGateway } from './refuse-own-gateway.ts'
import { requirePlace } from './require-place.ts'

export interface Backend extends Side {
  readonly socket: Socket
  /** Of several hosts the one that was connected to comes first. */
  readonly address: BackendAddress
}

/** A client that is let in, and the backend that runs for it. */
export interface EstablishedLogin {
  readonly backend: Backend
  /** PostgreSQL's name of the client's role. */
  readonly role: string
  readonly principal: Principal | undefined
}

export interface LogInOptions {
  readonly name: string
  readonly database: FoundDatabase
  /** The client's startup parameters, except user and database. */
  readonly parameters: readonly (readonly [string, string])[]
  /** The client asks for read-only transactions. */
  readonly isReadOnly: boolean
  readonly limits: Pick<GatewayLimits, 'allowWeakLogin'>
  readonly ports: GatewayPorts
  readonly signal: AbortSignal
  onBackend(backend: Backend): void
  /** A principal has proven who it is. */
  onPrincipal(principal: Principal): void
}

/** Logs in, unless the name or the address has to wait for its failures before. */
export async function logIn(client: Greeted, options: LogInOptions): Promise<EstablishedLogin> {
  const { name, ports } = options
  refuseOwnGateway(client.socket, options.database.address)
  const from = clientAddressOf(client.socket)
  const admission = await ports
    .admitLogin(name, from)
    .catch((cause: unknown) => refuse('StoreUnavailable', {}, { cause }))
  const { waitSeconds } = admission
  if (waitSeconds > 0) refuse('LoginThrottled', { seconds: String(waitSeconds) })
  let proof: LoginProof = 'untold'
  try {
    const login = await (isDirectoryName(name) ? logInAsPrincipal : logInAsRole)(client, options)
    proof = 'right'
    return login
  } catch (error) {
    if (isGuess(error)) proof = 'wrong'
    throw error
  } finally {
    // While the store is away, no login is admitted.
    await ports.endLogin(name, from, admission, proof).catch(() => {})
  }
}

async function logInAsRole(client: Greeted, options: LogInOptions): Promise<EstablishedLogin> {
  // Before the server is connected to: SCRAM without channel binding lets a machine in between have the session.
  if (!options.database.isReached) refuse('NotReached')
  const backend = await start(options.name, options, openAtPrimary)
  await passLogin(client, backend, options.limits.allowWeakLogin)
  return { backend, role: options.name, principal: undefined }
}

/** The first as the role is, each other with its password set anew. */
const mostAttempts = 5

async function logInAsPrincipal(client: Greeted, options: LogInOptions): Promise<EstablishedLogin> {
  const { name, database, ports } = options
  const isSecretSent = splitCredentialName(name) === undefined
  if (isSecretSent && !client.encrypted && !isOnThisMachine(client.socket)) refuse('NeedsTlsForToken')
  if (database.isUnbound) refuse('UnknownDatabase', { name: database.address.database })
  const login = new DirectoryLogin({ name, database }, ports)
  const principal = await login.check(client)
  options.onPrincipal(principal)
  for (let attempt = 1; ; attempt++) {
    const { role, password, version } = await login.prepare(principal, attempt > 1)
    // By its place, a server that was bound before and is again would pass for the one that has this password.
    if (version !== database.version) refuse('BindingChanged')
    const backend = await start(role, options)
    await requirePlace(database.id, backend.address, ports, version)
    const failed = await proveLogin(backend, password)
    if (!failed) {
      client.socket.write(message('R', int32(0)))
      return { backend, role, principal }
    }
    // The login role's password was changed, or derived from another key: while keys change, nodes differ in theirs.
    if (attempt === mostAttempts || failed.sqlstate !== sqlstate.invalidPassword)
      login.refuse('LoginRoleRefused', { why: failed.why })
    backend.socket.destroy()
  }
}

/** Of a database, until its session begins: settings and notices, of which all that it sends is held. */
const mostLoginBytes = 4 * 1024 * 1024

async function start(user: string, options: LogInOptions, openOther = openAnywhere) {
  const { database, parameters, onBackend } = options
  const { socket, address } = (await openStandby(user, options)) ?? (await openOther(options))
  const backend = { socket, address, reader: new ByteReader(socket, mostLoginBytes) }
  onBackend(backend)
  socket.write(writeStartup([['user', user], ...parameters, ['database', database.address.database]]))
  return backend
}

async function openAnywhere({ database, signal }: LogInOptions) {
  return await openAnyBackend(database.address, signal)
}

/**
 * Of several hosts the one where the binding is logged in as the primary: one of the others may be a machine that lets the
 * binding in nowhere and stands between the clients and the server.
 */
async function openAtPrimary(options: LogInOptions) {
  const { database, signal } = options
  const { others, ...first } = database.address
  if (!others) return await openAnywhere(options)
  const places = [first, ...others]
  const primary = await findPrimary(options)
  const at = places.findIndex((place) => primary && isSamePlace(place, primary))
  const place = places[at]
  if (!place) return refuse('NoPrimary')
  const { host, port, addresses } = place
  const address = { ...database.address, host, port, addresses, others: places.toSpliced(at, 1) }
  return { socket: await openBackend(address, signal), address }
}

/** Of a database that is not bound, by the first of its neighbours that is logged in to one. */
async function findPrimary({ database, ports, signal }: LogInOptions) {
  for (const id of database.neighbourIds ?? [database.id]) {
    const primary = await ports.findPrimary(id).catch(() => undefined)
    if (primary || signal.aborted) return primary
  }
  return undefined
}

/** Undefined: the session is for the primary, as none of the standbys will do. */
async function openStandby(role: string, { database, isReadOnly, ports, signal }: LogInOptions) {
  if (!isReadOnly || !database.readsAtStandby) return undefined
  const found = await ports.findStandby(database.id, role).catch(() => undefined)
  const { others = [], ...first } = database.address
  const place = found && [first, ...others].find((one) => isSamePlace(one, found.place))
  if (!place) return undefined
  const { host, port, addresses } = place
  const address = { ...first, host, port, addresses, standing: found.standing }
  const socket = await openBackend(address, signal).catch(() => undefined)
  return socket && { socket, address }
}
