import type { Duplex } from 'node:stream'
import { guardSchema } from '../../db/guard-schema.ts'
import { loginMarkPrefix } from '../../db/login-mark.ts'
import type { ByteReader } from '../../wire/byte-reader.ts'
import {
  query,
  readFields,
  readFirstResponse,
  readMechanisms,
  readParameter,
  readSeverity,
  writeMechanisms,
} from '../../wire/messages.ts'
import { refuse, violation } from '../../wire/refusal.ts'
import { asksFewRounds, scramMechanism } from '../../wire/scram.ts'
import { RefusedByDatabase } from './login-failures.ts'

export interface Side {
  readonly socket: Duplex
  readonly reader: ByteReader
}

export interface CancelKey {
  readonly processId: number
  readonly secret: Buffer
}

export interface SessionStart {
  readonly parameters: Map<string, string>
  /** The database's own key. Clients get another secret, so that a cancel request always passes the gateway. */
  readonly key: CancelKey | undefined
  /** The last message of the login, still to be sent. */
  readonly ready: Buffer
}

export const maxClientFrame = 65_535
export const maxBackendFrame = 1 << 20

/** Relays a login unchanged: the gateway learns no password and has no credentials of its own. */
export async function passLogin(client: Side, backend: Side, allowWeak: boolean): Promise<void> {
  let isProven = allowWeak
  for (;;) {
    const frame = await backend.reader.takeFrame(maxBackendFrame)
    switch (String.fromCharCode(frame[0] ?? 0)) {
      case 'R':
        if (await passStep(client, backend, frame, allowWeak)) isProven = true
        if (frame.readUInt32BE(5) !== 0) break
        // Where the server trusts the gateway's address, any client could log in as any role.
        if (!isProven) refuse('WeakLogin', { method: 'no password' })
        client.socket.write(frame)
        return
      case 'E':
        return passRefusal(client, frame)
      case 'N':
        client.socket.write(frame)
        break
      default:
        violation('unexpected message of the database during login')
    }
  }
}

/** Reads the session's parameters and cancel key after the login is proven. */
export async function beginSession(client: Side, backend: Side): Promise<SessionStart> {
  const parameters = new Map<string, string>()
  let key: CancelKey | undefined
  for (;;) {
    const frame = await backend.reader.takeFrame(maxBackendFrame)
    switch (String.fromCharCode(frame[0] ?? 0)) {
      case 'E':
        return passRefusal(client, frame)
      case 'N':
        // GATE-370, of a trigger at the login, before the database has said whose session it is.
        if (readSeverity(frame) !== 'LOG') client.socket.write(frame)
        break
      case 'S': {
        parameters.set(...(readParameter(frame) as [string, string]))
        client.socket.write(frame)
        break
      }
      case 'K':
        key = { processId: frame.readUInt32BE(5), secret: frame.subarray(9) }
        break
      case 'Z':
        return { parameters, key, ready: frame }
      default:
        violation('unexpected message of the database during login')
    }
  }
}

function passRefusal({ socket }: Side, frame: Buffer): never {
  socket.write(frame)
  const fields = new Map(readFields(frame))
  const message = Buffer.from(fields.get('M') ?? '', 'latin1').toString()
  throw new RefusedByDatabase(fields.get('C') ?? '', message)
}

/** The next answer of the client to a request for proof. */
export async function takePassword({ reader }: Side): Promise<Buffer> {
  const sent = await reader.takeFrame(maxClientFrame)
  if (sent[0] !== 0x70) violation('expected a password message')
  return sent
}

export function readLoginCode(frame: Buffer): number {
  return frame.length < 9 ? violation('malformed login request') : frame.readUInt32BE(5)
}

/** One request for proof and its answer. True: the database has proven that it knows the password, and so has the client. */
async function passStep(client: Side, backend: Side, frame: Buffer, allowWeak: boolean): Promise<boolean> {
  const code = readLoginCode(frame)
  switch (code) {
    case 0:
      return false
    case 3:
    case 5:
      if (!allowWeak) refuse('WeakLogin', { method: code === 3 ? 'a cleartext password' : 'an MD5 password' })
      client.socket.write(frame)
      backend.socket.write(await takePassword(client))
      return false
    case 10: {
      const offered = readMechanisms(frame)
      if (!offered.includes(scramMechanism)) refuse('WeakLogin', { method: 'a login without SCRAM-SHA-256' })
      client.socket.write(writeMechanisms([scramMechanism]))
      const sent = await takePassword(client)
      const first = readFirstResponse(sent)
      if (first.mechanism !== scramMechanism) violation('the client chose a login that was not offered')
      // The gateway removed the server's offer of channel binding, which the server would rightly take for a downgrade
      // attack.
      if (first.binding === 'y' && offered.length > 1) refuse('ChannelBinding')
      backend.socket.write(sent)
      return false
    }
    case 11:
      if (!allowWeak && asksFewRounds(frame.toString('latin1', 9)))
        refuse('WeakLogin', { method: 'SCRAM with fewer than 4096 rounds' })
      client.socket.write(frame)
      backend.socket.write(await takePassword(client))
      return false
    case 12:
      client.socket.write(frame)
      return true
    default:
      return refuse('WeakLogin', { method: 'a kind of login that cannot be passed on' })
  }
}

export interface OwnSession {
  /** Older servers do not report it by themselves. */
  readonly searchPath: string
  /** It is that of a login role, of whatever database: these are let in by a token alone. */
  readonly isOfLoginRole: boolean
  /** The server replays what another one writes. */
  readonly isStandby: boolean
  /** Something in the database is masked. */
  readonly isMasked: boolean
  /** The OID of the session's role, which keeps it under another name. */
  readonly roleOid: number
  /** The OIDs of the session's role and of the roles that it is a member of: another text as soon as these are others. */
  readonly memberships: string
}

/**
 * Asks the session itself, before the client can: which role a name means is up to the server, which may cut or map it.
 * Everything has its schema, as the client chose the search path.
 */
const aboutItself = `select pg_catalog.concat(exists (
  select from pg_catalog.pg_roles r join pg_catalog.pg_shdescription d on d.objoid operator(pg_catalog.=) r.oid
  where r.rolname operator(pg_catalog.=) session_user
    and d.classoid operator(pg_catalog.=) 'pg_catalog.pg_authid'::pg_catalog.regclass
    and pg_catalog.starts_with(d.description, '${loginMarkPrefix}')),
  ' ', pg_catalog.pg_is_in_recovery(), ' ', exists (select from pg_catalog.pg_namespace where pg_catalog.starts_with(nspname, '${guardSchema}')),
  ' ', (select r.oid from pg_catalog.pg_roles r where r.rolname operator(pg_catalog.=) session_user),
  array(select m.roleid from pg_catalog.pg_auth_members m join pg_catalog.pg_roles r
    on r.oid operator(pg_catalog.=) m.member where r.rolname operator(pg_catalog.=) session_user order by 1),
  ' ', pg_catalog.current_setting('search_path'))`

export async function askAboutItself(backend: Side): Promise<OwnSession> {
  const found = await ask(backend, aboutItself)
  const [, isOfLoginRole, isStandby, isMasked, memberships, searchPath] =
    /^([tf]) ([tf]) ([tf]) (\S*) (.*)$/s.exec(found ?? '') ?? []
  if (memberships === undefined || searchPath === undefined) return refuse('SessionUnknown')
  return {
    searchPath,
    isOfLoginRole: isOfLoginRole === 't',
    isStandby: isStandby === 't',
    isMasked: isMasked === 't',
    // PostgreSQL's OIDs begin with 1: of a role that is gone no session is found.
    roleOid: Number(/^\d*/.exec(memberships)?.[0] ?? 0),
    memberships,
  }
}

/** As the store has it of masked databases: apart from the above, as the role may be denied the function. */
const ownIdentity = `select pg_catalog.concat(
    (select system_identifier from pg_catalog.pg_control_system()), '/', oid)
  from pg_catalog.pg_database where datname operator(pg_catalog.=) pg_catalog.current_database()`

/** Which database of which cluster a session is in, by whatever address. */
export async function askIdentity(backend: Side): Promise<string> {
  const found = (await ask(backend, ownIdentity)) ?? ''
  // The server is a stranger: the store would refuse some texts, and with them the look at all sessions.
  return /^\d{1,20}\/\d{1,10}$/.test(found) ? found : refuse('SessionUnknown')
}

/** The one column of the only row; undefined: the statement failed. */
async function ask({ socket, reader }: Side, text: string): Promise<string | undefined> {
  socket.write(query(text))
  let found: string | undefined
  for (;;) {
    const frame = await reader.takeFrame(maxBackendFrame)
    const type = String.fromCharCode(frame[0] ?? 0)
    if (type === 'D') found = frame.toString('utf8', 11)
    if (type === 'E' && /^(FATAL|PANIC)$/.test(new Map(readFields(frame)).get('V') ?? ''))
      refuse('BackendLost')
    if (type === 'Z') return found
  }
}
