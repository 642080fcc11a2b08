import type { Logger } from 'pino'
import type { DatabaseAddress, Place } from '../db/database-url.ts'
import type { NodeCertificate } from '../kernel/node-name.ts'
import type { TokenGrounds } from '../kernel/token-grounds.ts'
import type { Touched } from './audit/touch.ts'
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

/** A relation whose reads move, as one role sees it. Names are as they are, never quoted. */
export interface MaskedRelation {
  readonly schema: string
  readonly name: string
  readonly twin: { readonly schema: string; readonly name: string }
  /** The columns that COPY of the table itself would write, in order. */
  readonly columns: readonly string[]
  /** Tables inherit from it: its twin shows their rows too. */
  readonly hasChildren: boolean
  /** Its primary key, if the role may read that; else nothing. */
  readonly key: readonly string[]
  /** Columns that are the same in all rows of one key, and can be grouped by. */
  readonly dependent: readonly string[]
}

/** A masked column that a relation shows. */
export interface WatchedColumn {
  /** The one that has the mask, as SQL writes it: schema.table.column. */
  readonly column: string
  /** The column's name in the relation. */
  readonly attribute: string
  /** The role would see it as it is. */
  readonly isRaw: boolean
  /** It would with a privilege that it lacks, and that can be granted and revoked before the gateway has heard of it. */
  readonly mayBecomeRaw?: boolean
}

/** A relation that shows masked columns, as they are or under their masks: reads of it are written down. */
export interface WatchedRelation {
  readonly schema: string
  readonly name: string
  /** All of its columns, in order. */
  readonly attributes: readonly string[]
  /** Its own masked columns. */
  readonly masked: readonly WatchedColumn[]
  /** Those of other relations that it reads, whatever is asked of it. */
  readonly shows: readonly WatchedColumn[]
  /** Those that its rules on INSERT, UPDATE and DELETE read. */
  readonly rules?: readonly WatchedColumn[]
  /** Those that its row policies read. */
  readonly policies?: readonly WatchedColumn[]
  /** Which of the `rows` of the role an error of any write to it may show. */
  readonly fails?: readonly number[]
  /** The same of a write that changes rows that are there, beside its own columns. */
  readonly failsOnChange?: readonly number[]
  /** With a privilege that the role lacks, a read of it shows masked columns that are not in these lists. */
  readonly mayShowMore?: boolean
}

/** A relation that shares its name with a masked one. */
export interface Homonym {
  readonly schema: string
  readonly name: string
  /** False: the role may not use the schema, which then is not on its path, but owns it, or may become a role that may. */
  readonly isUsable?: boolean
  /** The schema is named like another role that it may become: `$user` may be this schema. */
  readonly isOfRole?: boolean
}

export interface RoleMasks {
  readonly relations: readonly MaskedRelation[]
  /** Of every role, the exempt ones too: nothing moves by it. */
  readonly watched?: readonly WatchedRelation[]
  /** Masked columns that one error shows raw, by the numbers that watched relations have. */
  readonly rows?: readonly (readonly string[])[]
  /** Stands for `watched` and `rows`, which are long: another one as soon as these are. */
  readonly watchedDigest?: string
  /** Every relation that shares its name with a masked one: whose turn it is depends on the search path. */
  readonly homonyms: readonly Homonym[]
  /** They could not be read yet, or no role has the name any more. */
  readonly isUnknown?: boolean
  /** The OID of the role of that name; undefined: nothing is masked for any role. */
  readonly roleOid?: number
  /** Schemas of ours that this role cannot use as a whole: the controller's notes, and with them the twins. */
  readonly hides?: readonly string[]
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

export interface LoginAccess {
  readonly role: string
  readonly password: string
  /** Of the binding that the password is of. */
  readonly version: string
}

/** How to log in as the role that the controller keeps for a principal, or why that cannot be. */
export type PreparedLogin =
  | { readonly kind: 'ready'; readonly login: LoginAccess }
  | { readonly kind: 'noRole' }
  | { readonly kind: 'nameTaken'; readonly role: string }
  | { readonly kind: 'blocked'; readonly role: string }
  /** It owns masked tables, and would see raw values. */
  | { readonly kind: 'ownsMasked'; readonly role: string }
  /** An exemption of the role was withdrawn, and the database may still honour it. */
  | { readonly kind: 'stillExempt' }
  /** The statement is one that the operator of the database has to run. */
  | { readonly kind: 'notAllowed'; readonly statement: string }
  | { readonly kind: 'notBound' }

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

/** A login with a directory account that failed. */
export interface RefusedLogin {
  /** As the client gave it. */
  readonly name: string
  readonly principal: Principal | undefined
  readonly database: FoundDatabase
  readonly from: string
  readonly reason: string
}

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
  /** The credential of an account for a database. Null: too many failures. */
  findCredential(
    account: string,
    credential: string,
    target: string,
    from: string,
  ): Promise<CredentialCheck | null>
  /** Counts a failure, or notes the use of the credential. */
  recordProof(name: string, from: string, credentialId: string | undefined): Promise<void>
  /** `isReset`: the database did not take the last password. */
  prepareLogin(databaseId: string, principalId: string, isReset: boolean): Promise<PreparedLogin>
  /** For each of the tokens whether it was revoked by now; an expired one was not. */
  findRevoked(tokens: readonly TokenGrounds[]): Promise<readonly boolean[]>
  /** Ends those of the role's backends in the database, whatever they are at and whatever the role is called by now. */
  endBackends(databaseId: string, roleOid: number, processIds: readonly number[]): Promise<void>
  /** Asks the other nodes to cancel what the session of this digest does. */
  passCancel(digest: string): Promise<void>
  recordSession(session: SessionRecord): Promise<void>
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
