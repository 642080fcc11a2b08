import { randomUUID } from 'node:crypto'
import { isSamePlace } from '../../db/database-url.ts'
import { clientAddressOf } from '../../kernel/client-address.ts'
import { Ended } from '../../wire/byte-reader.ts'
import { backendKey } from '../../wire/messages.ts'
import { refuse } from '../../wire/refusal.ts'
import { askAboutItself, askIdentity, beginSession } from '../login/authenticate.ts'
import type { Greeted } from '../login/greet-client.ts'
import type { EstablishedLogin } from '../login/log-in.ts'
import { isKnownMasked, requirePlace } from '../login/require-place.ts'
import type { BackendAddress, FoundDatabase, GatewayPorts, SessionRecord } from '../ports.ts'
import { MaskMap } from '../rewrite/mask-map.ts'
import { cancelStatement } from './cancel.ts'
import type { ConnectionAttempt, GatewayContext } from './gateway-context.ts'
import { Relay } from './relay.ts'
import { StatementTexts } from './statement-texts.ts'

export interface RelaySessionOptions {
  readonly database: FoundDatabase
  readonly gateway: GatewayContext
  readonly attempt: ConnectionAttempt
  /** How long the secret is that the client takes to cancel with. */
  readonly secretBytes: number
}

const noMasks = new MaskMap({ relations: [], homonyms: [] })
const unmasked = { current: () => noMasks, release: () => {} }

/** From the end of the login to the end of the session. */
export async function relaySession(
  client: Greeted,
  { backend, role, principal }: EstablishedLogin,
  { database, gateway, attempt, secretBytes }: RelaySessionOptions,
): Promise<void> {
  const { ports, limits, masks } = gateway
  const entry = await beginSession(client, backend)
  const { key } = entry
  const { searchPath, isOfLoginRole, isStandby, isMasked, roleOid, memberships } =
    await askAboutItself(backend)
  const primary = await requirePrimary(backend.address, isStandby, database, ports)
  const address = database.isUnbound ? { ...primary, identity: await askIdentity(backend) } : primary
  if (isOfLoginRole && !principal) refuse('TokenNeeded', { role })
  // Its server goes by another name in the binding: without the masks of now, the audit would miss what is read.
  if (database.isUnbound && (isMasked || (await isKnownMasked(address, ports))))
    refuse('UnknownDatabase', { name: database.address.database })
  const reported = entry.parameters.get('search_path')
  const held = database.isUnbound
    ? unmasked
    : await masks.hold(database.id, role, { roleOid, memberships, address })
  const texts = new StatementTexts({
    masks: () => held.current(),
    role,
    database: database.address.database,
    parameters: entry.parameters.set('search_path', reported ?? searchPath),
    hearsPath: reported !== undefined,
    allowsCopies: limits.allowMaskedCopies,
    tellsMasks: limits.tellsMasks,
    isEnforced: !database.isUnbound,
    log: ports.log,
  })
  const from = clientAddressOf(client.socket)
  const record = { id: randomUUID(), role, principal, database, from, encrypted: client.encrypted }
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
    onAbandoned: () => void (key && cancelStatement(address, key, limits.startupMs).catch(() => {})),
  })
  let release = () => {}
  try {
    const admission = await gateway.admit({
      key,
      address,
      role,
      roleOid,
      countedAs: principal?.id ?? `${database.id} ${role}`,
      databaseId: database.id,
      principal,
      relay,
      accepted: attempt.accepted,
      secretBytes,
    })
    release = admission.release
    await requireUnrevoked(record, ports)
    // The session is registered by now: the watch finds every change of the binding that comes later.
    await requirePlace(database.id, address, ports)
    await requireStanding(address, record, ports)
    checkPresence(attempt.signal)
    await ports.recordSession(record).catch((cause: unknown) => refuse('AuditUnavailable', {}, { cause }))
    using _ = { [Symbol.dispose]: end }
    checkPresence(attempt.signal)
    attempt.onLogin()
    // A server without keys, as some poolers are, gives its clients none.
    if (key) client.socket.write(backendKey(admission.clientKey))
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

/**
 * Of several hosts only the server that the controller enforces masks at will do. Masks of an unbound database there are
 * none: its server has to take writes, and is not watched afterwards.
 */
async function requirePrimary(
  address: BackendAddress,
  isStandby: boolean,
  { id, isUnbound }: FoundDatabase,
  ports: GatewayPorts,
): Promise<BackendAddress> {
  const { others, ...place } = address
  if (address.standing !== undefined) return isStandby ? address : refuse('NoPrimary')
  // A host may lead to a standby too, by a name with several addresses: whether that has replayed the masks is not known.
  if (isStandby && (others || !isUnbound)) return refuse('NoPrimary')
  if (!others) return address
  if (isUnbound) return place
  const primary = await ports.findPrimary(id).catch(() => undefined)
  return primary && isSamePlace(primary, place) ? address : refuse('NoPrimary')
}

/**
 * Looks again at a token that was checked when the login began. The session is registered by now: the watch finds every
 * revocation that comes later.
 */
async function requireUnrevoked(record: SessionRecord, ports: GatewayPorts): Promise<void> {
  const { role, principal } = record
  if (!principal) return
  const [isRevoked] = await ports
    .findRevoked([principal.grounds])
    .catch((cause: unknown) => refuse('DirectoryUnavailable', {}, { cause }))
  if (isRevoked !== false) refuse('TokenRefused', { name: role })
}

/**
 * A session at a standby is registered with the standing that its role had before the standby was chosen. Where that is
 * another one by now, the standby may lack what changed it; the watch finds every change that comes later.
 */
async function requireStanding(
  { standing }: BackendAddress,
  { database, role }: SessionRecord,
  ports: GatewayPorts,
): Promise<void> {
  if (standing === undefined) return
  const { standings } = await ports
    .lookAtStandbys(database.id, [role])
    .catch((cause: unknown) => refuse('NoPrimary', {}, { cause }))
  if ((standings.get(role) ?? '') !== standing) refuse('StandbyLeft')
}

/** The client no longer waits for the session. */
function checkPresence({ aborted }: AbortSignal): void {
  if (aborted) throw new Ended('the client left during the login')
}
