import type { Fragment, Query } from '../db/query.ts'
import { fail } from '../kernel/problem.ts'
import type { Soon } from '../kernel/soon.ts'
import type { TokenGrounds } from '../kernel/token-grounds.ts'
import { readBearer } from './bearer.ts'
import { type Caller, makeCaller } from './caller.ts'
import type { RightName, Rights } from './effective-rights.ts'
import type { Params, Permission } from './permission.ts'
import { permitByTable } from './permit.ts'
import type { Standing } from './principals.ts'
import type { Memory, Remembered } from './remember.ts'
import { isRevoked, listExchanged } from './revoked-tokens.ts'
import { type AssignmentsOf, encodeScopeSegment, requireAction } from './role-assignments.ts'
import type { VerifiedToken, Verifier } from './verify-token.ts'

/** The checks that every request passes before its operation runs. */
export interface Gatekeeper {
  /** `connection`: the client's, where there is one; requests over it mostly carry the same token. */
  authenticate(authorization: string | undefined, connection?: object): Soon<Caller>
  /** The same for a session that goes on when the token has expired. */
  openSession(authorization: string): Promise<{ readonly caller: Caller; readonly grounds: TokenGrounds }>
  /** Throws or rejects when the caller may not, or when none of the rights is one of the signed-in person. */
  permit(caller: Caller, permission: Permission, params: Params, rights?: Rights): Soon<void>
  /**
   * Rejects when the token of the caller was revoked after the caller was authenticated. It reads the store past what is
   * remembered and past open transactions: a revocation that the caller's own transaction makes does not count.
   */
  confirm(caller: Caller): Promise<void>
  /** The facts that the caller's token rests on; undefined for callers of the emulator, which have none. */
  groundsOf(caller: Caller): TokenGrounds | undefined
  /** A column `doubtful` for a statement of the caller's transaction: while it is false, `confirm` would not reject. */
  selectDoubt(sql: Query, caller: Caller): Fragment
  /** Throws or rejects when the caller has used up its allowance. */
  throttle(caller: Caller): Promise<void> | void
}

export interface GatekeeperParts {
  readonly assignmentsOf: AssignmentsOf
  readonly verifier: Verifier
  /** Where the next three keep their answers. */
  readonly memory: Pick<Memory, 'era'>
  standingOf(objectId: string, applicationId: string): Promise<Remembered<Standing | undefined>>
  isSignInOpen(signInId: string): Promise<Remembered<boolean>>
  /** The end of the first secret, certificate or address to end, in milliseconds; 0 where an application lacks one. */
  findEndOfProofs(...proofs: readonly string[]): Promise<Remembered<number>>
  /** For each of the tokens whether it was revoked by now; it remembers nothing, and needs no connection of a transaction. */
  findRevoked(tokens: readonly TokenGrounds[]): Promise<readonly boolean[]>
  /** A condition for a larger statement: false only when the token was not revoked. */
  mayBeRevoked(sql: Query, token: TokenGrounds): Fragment
  throttle(caller: Caller): Promise<void> | void
  /** Throws unless the signed-in person has one of the rights over the object that the path names. */
  requireAnyRight(caller: Caller, rights: readonly RightName[], params: Params): Promise<void>
}

/** A token that passed every check, until one of them has to be made again. */
interface Admission {
  readonly authorization: string
  readonly token: VerifiedToken
  readonly untilMs: number
  /** That of the memory when the checks began. */
  readonly era: number
}

export function createGatekeeper(parts: GatekeeperParts): Gatekeeper {
  const { isKeyHeld } = parts.verifier
  const { memory } = parts
  // A client sends the same token with every request, and finding it among all tokens takes longer than the rest of a
  // check. It is forgotten with its connection.
  const last = new WeakMap<object, Admission>()
  // Callers whose token was verified. Those of the emulator have none.
  const tokens = new WeakMap<Caller, VerifiedToken>()

  const openSession = async (authorization: string | undefined, connection?: object) => {
    const { era } = memory
    const token = await parts.verifier.verify(readBearer(authorization))
    const grounds = groundsOf(token)
    const { signInId, proofs } = grounds
    let { untilMs } = token
    for (const each of listExchanged(grounds)) {
      const standing = await parts.standingOf(each.objectId, each.applicationId)
      if (isRevoked(each, standing.value)) fail('InvalidToken')
      untilMs = Math.min(untilMs, standing.untilMs)
    }
    const signIn = signInId === undefined ? always : await parts.isSignInOpen(signInId)
    const kept = proofs.length === 0 ? endless : await parts.findEndOfProofs(...proofs)
    // Remembered beyond the end of a secret: no node hears of that.
    if (!signIn.value || Date.now() >= kept.value) fail('InvalidToken')
    untilMs = Math.min(untilMs, signIn.untilMs, kept.untilMs, kept.value)
    if (connection && authorization !== undefined)
      last.set(connection, { authorization, token, untilMs, era })
    const caller = makeCaller(token.facts)
    tokens.set(caller, token)
    return { caller, grounds }
  }

  return {
    openSession,

    authenticate(authorization, connection) {
      const known = connection && last.get(connection)
      const isSame = known && known.authorization === authorization && known.era === memory.era
      return isSame && Date.now() < known.untilMs && isKeyHeld(known.token)
        ? makeCaller(known.token.facts)
        : openSession(authorization, connection).then(({ caller }) => caller)
    },

    permit(caller, permission, params, rights) {
      if ('action' in permission) return permitAction(parts.assignmentsOf, caller, permission, params)
      permitByTable(caller, permission)
      if (rights === undefined || rights.length === 0) return
      return parts.requireAnyRight(caller, [rights].flat(), params)
    },

    async confirm(caller) {
      const token = tokens.get(caller)
      if (!token) return
      const [revoked] = await parts.findRevoked([groundsOf(token)])
      if (revoked || !isKeyHeld(token)) fail('RevokedMeanwhile')
    },

    groundsOf(caller) {
      const token = tokens.get(caller)
      return token && groundsOf(token)
    },

    selectDoubt(sql, caller) {
      const token = tokens.get(caller)
      if (!token) return sql`false as doubtful`
      return isKeyHeld(token)
        ? sql`${parts.mayBeRevoked(sql, groundsOf(token))} as doubtful`
        : sql`true as doubtful`
    },

    throttle: parts.throttle,
  }
}

const always: Remembered<boolean> = { value: true, untilMs: Number.POSITIVE_INFINITY }
const endless: Remembered<number> = { value: Number.POSITIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY }

async function permitAction(
  assignmentsOf: AssignmentsOf,
  caller: Caller,
  permission: Extract<Permission, { action: string }>,
  params: Params,
): Promise<void> {
  const segments = Object.entries(params).map(([name, value]) => [name, encodeScopeSegment(value)])
  await requireAction(
    assignmentsOf,
    caller,
    permission.action,
    permission.scope(Object.fromEntries(segments)),
  )
}

function groundsOf(token: VerifiedToken): TokenGrounds {
  const { facts, issuer, issuedAtMs, isTimeExact, signInId, proofs, exchanged } = token
  return {
    objectId: facts.objectId,
    kind: facts.kind === 'delegated' ? 'user' : 'servicePrincipal',
    applicationId: facts.applicationId,
    isOurs: issuer.ours,
    knownPrincipalsOnly: issuer.knownPrincipalsOnly,
    issuedAtMs,
    isTimeExact,
    signInId,
    proofs,
    exchanged,
  }
}
