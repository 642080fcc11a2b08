import type { Logger } from 'pino'
import type { PreparedLogin } from '../contracts/login.ts'
import type { RoleMasks } from '../contracts/role-masks.ts'
import type { DatabaseAddress, Place } from '../db/database-url.ts'
import type { NodeCertificate } from '../kernel/node-name.ts'
import type { TokenGrounds } from '../kernel/token-grounds.ts'
import type { Touched } from './audit/touch.ts'
import type { LoginFailure } from './login/login-failures.ts'
import type { GatewayMetrics } from './metrics.ts'

/** Where a database is and how to get there; who logs in is the client's affair. */
export type BackendAddress = Pick<DatabaseAddress, 'database' | 'ssl'> &
  BackendPlace & {
    /** Where the database may be instead: a session of it is at the server that takes writes, and at no other. */
    readonly others?: readonly BackendPlace[]
    /** It is that of a standby, chosen for a role of this standing. */
    readonly standing?: string
    /** Of a session in a database that is not bound: its cluster and database, as the server says. */
    readonly identity?: string
  }

export interface BackendPlace extends Place {
  /** The addresses of the host that a binding may connect to, and no others. */
  readonly addresses: readonly string[]
}

export interface FoundDatabase {
  readonly id: string
  /** How the management API calls it. */
  readonly target: string
  readonly address: BackendAddress
  /** Of the binding that the address is of. Databases that are not bound have none. */
  readonly version?: string
  /** The binding has logged in to the address: one that never did may lead to any machine that its writer named. */
  readonly isReached: boolean
  /** It is on the server of a bound database: nothing is masked there, and no principal is let in. */
  readonly isUnbound?: boolean
  /** The bound databases whose bindings lead to its server. */
  readonly neighbourIds?: readonly string[]
  /** Sessions that ask for read-only transactions go to a standby. */
  readonly readsAtStandby?: boolean
}

/** Where sessions in a database may be at present. */
export interface BoundPlaces {
  readonly database: string
  readonly places: readonly Place[]
  /** Sessions are at the primary of several hosts, or at a standby, and are watched for that. */
  readonly isSeveral: boolean
  /** Of the binding: another one after each change. Databases that are not bound have none. */
  readonly version?: string
}

/** Of the standbys of a database, for sessions that are there. */
export interface StandbyLook {
  /** For each role a text that is another one as soon as its rights or the masks of the database are. */
  readonly standings: ReadonlyMap<string, string>
  /** The standbys that are close enough behind the primary. */
  readonly close: readonly Place[]
}

/** A user or application of the directory, proven by a token. */
export interface Principal {
  readonly id: string
  readonly kind: 'user' | 'servicePrincipal'
  /** The client id of the application that got the token. */
  readonly applicationId: string
  readonly grounds: TokenGrounds
  /** The name of the credential that stood for a token. */
  readonly credential?: string
}

export type TokenCheck =
  | { readonly kind: 'accepted'; readonly principal: Principal }
  | { readonly kind: 'expired' }
  | { readonly kind: 'refused' }

/** The verifier is there whether or not a credential is: the client learns of it by its proof alone. */
export interface CredentialCheck {
  readonly verifier: string
  /** Undefined: no password lets the client in. */
  readonly principal: Principal | undefined
}

export interface SessionRecord {
  readonly id: string
  readonly role: string
  /** Undefined: a role of the database itself logged in. */
  readonly principal: Principal | undefined
  readonly database: FoundDatabase
  readonly from: string
  readonly encrypted: boolean
}

/** An entry of the audit about a session that is under way or over. */
export type SessionEvent = { readonly session: SessionRecord; readonly at: Date } & (
  | ({
      readonly kind: 'touched'
      /** The policy is only observed, and the role would see masks if it were enforced. */
      readonly isObserved?: boolean
    } & Touched)
  | { readonly kind: 'ended'; readonly seconds: number; readonly statements: number }
)

/** A login that failed before its session began. */
export interface RefusedLogin {
  readonly failure: LoginFailure
  /** As the client gave it; undefined: it failed before that. */
  readonly name: string | undefined
  readonly principal: Principal | undefined
  /** How the management API calls the database; undefined: it is not known which. */
  readonly target: string | undefined
  readonly from: string
  /** As the client was told. */
  readonly reason: string
  readonly cause?: unknown
}

/** Whether failures of a name or an address make a login wait. */
export interface LoginAdmission {
  readonly waitSeconds: number
  /** An attempt was taken, and is given back unless the password is wrong. */
  readonly isTaken: boolean
  /** The name has logged in from there before. */
  readonly isKnown: boolean
}

/** `untold`: the login ended before the password was looked at, or for another reason. */
export type LoginProof = 'right' | 'wrong' | 'untold'

export interface GatewayPorts {
  /** Every bound database that goes by this name. */
  findDatabases(name: string): Promise<readonly FoundDatabase[]>
  /** Databases of that name that are not bound, where the operator lets clients through to them. */
  findUnbound(name: string): Promise<readonly FoundDatabase[]>
  /** By the ids of found databases. One that is not bound any more has no entry, nor an unbound one that cannot be found any more. */
  findPlaces(databaseIds: readonly string[]): Promise<ReadonlyMap<string, BoundPlaces>>
  /** Those of the identities whose databases are masked, whatever the server is called in their bindings. */
  findMasked(identities: readonly string[]): Promise<readonly string[]>
  /** Where the primary of a database on several hosts is; undefined: it is not known. */
  findPrimary(databaseId: string): Promise<Place | undefined>
  /** A standby that has replayed all that the primary has, and the standing of the role; undefined: there is none. */
  findStandby(
    databaseId: string,
    role: string,
  ): Promise<{ readonly place: Place; readonly standing: string } | undefined>
  lookAtStandbys(databaseId: string, roles: readonly string[]): Promise<StandbyLook>
  /** The relations that move to their twins, for each of the roles. */
  readMasks(databaseId: string, roles: readonly string[]): Promise<ReadonlyMap<string, RoleMasks>>
  /** Changes whenever masks or exemptions change, and privileges on masked relations and memberships in roles. */
  readVersion(databaseId: string): Promise<string>
  /** Those of the roles that would see masks if the policy of the database were enforced; none where it is, or is off. */
  findWouldMask(databaseId: string, roles: readonly string[]): Promise<readonly string[]>
  /** Checks whether a password is a valid access token for this user name. */
  checkToken(name: string, token: string): Promise<TokenCheck>
  /** Asked before each login. */
  admitLogin(name: string, from: string): Promise<LoginAdmission>
  endLogin(name: string, from: string, admission: LoginAdmission, proof: LoginProof): Promise<void>
  /** The credential of an account for a database. */
  findCredential(account: string, credential: string, target: string): Promise<CredentialCheck>
  noteUse(credentialId: string): Promise<void>
  /** `isReset`: the database did not take the last password. */
  prepareLogin(databaseId: string, principalId: string, isReset: boolean): Promise<PreparedLogin>
  /** For each of the tokens whether it was revoked by now; an expired one was not. */
  findRevoked(tokens: readonly TokenGrounds[]): Promise<readonly boolean[]>
  /** Ends those of the role's backends in the database, whatever they are at and whatever the role is called by now. */
  endBackends(databaseId: string, roleOid: number, processIds: readonly number[]): Promise<void>
  /** Asks the other nodes to cancel what the session of this digest does. */
  passCancel(digest: string): Promise<void>
  recordSession(session: SessionRecord): Promise<void>
  /** Counts, logs and audits a login that failed; it is not waited for. */
  recordRefusal(login: RefusedLogin): Promise<void>
  /** Audits touched columns and ends of sessions, some time after they happened. */
  recordEvents(events: readonly SessionEvent[]): Promise<void>
  certificate(): Promise<{ readonly cert: string; readonly key: string }>
  /** For clients that ask for this very node. */
  nodeCertificate(): Promise<NodeCertificate>
  readonly metrics: GatewayMetrics
  readonly log: Logger
}

export interface GatewayLimits {
  readonly connections: number
  readonly connectionsPerRole: number
  /** Addresses and networks of proxies, which tell the client's address by PROXY protocol version 2. */
  readonly proxies: readonly string[]
  readonly startupMs: number
  /** 0: for ever. */
  readonly idleMs: number
  /** Of one message of a client. */
  readonly messageBytes: number
  /** Let in what the server asks no good proof of. */
  readonly allowWeakLogin: boolean
  /** Let clients of other machines in without TLS. */
  readonly allowPlaintext: boolean
  /** Masked roles may store masks in other tables. */
  readonly allowMaskedCopies: boolean
  /** Sessions are told once of each relation that they read masked. */
  readonly tellsMasks: boolean
}
