import { fail } from '../kernel/problem.ts'
import type { TokenGrounds } from '../kernel/token-grounds.ts'
import { type Bearer, createBearerReader } from './bearer.ts'
import { type Caller, makeCaller } from './caller.ts'
import type { RightName, Rights } from './effective-rights.ts'
import type { Params, Permission } from './permission.ts'
import { permitByTable } from './permit.ts'
import type { IsSignInOpen, ReadStanding } from './principals.ts'
import { isRevoked } from './revoked-tokens.ts'
import { type AssignmentsOf, encodeScopeSegment, requireAction } from './role-assignments.ts'
import type { VerifiedToken } from './verify-token.ts'

/** The checks that every request passes before its operation runs. */
export interface Gatekeeper {
  /** `connection`: the client's, where there is one; requests over it mostly carry the same token. */
  authenticate(authorization: string | undefined, connection?: object): Promise<Caller>
  /** The same for a session that goes on when the token has expired. */
  openSession(authorization: string): Promise<{ readonly caller: Caller; readonly grounds: TokenGrounds }>
  /** Throws when the caller may not, or when none of the rights is one of the signed-in person. */
  permit(caller: Caller, permission: Permission, params: Params, rights?: Rights): Promise<void>
  /** Throws or rejects when the caller has used up its allowance. */
  throttle(caller: Caller): Promise<void> | void
}

export interface GatekeeperParts {
  readonly assignmentsOf: AssignmentsOf
  verify(bearer: Bearer): Promise<VerifiedToken>
  readonly standingOf: ReadStanding
  readonly isSignInOpen: IsSignInOpen
  throttle(caller: Caller): Promise<void> | void
  /** Throws unless the signed-in person has one of the rights over the object that the path names. */
  requireAnyRight(caller: Caller, rights: readonly RightName[], params: Params): Promise<void>
}

export function createGatekeeper(parts: GatekeeperParts): Gatekeeper {
  const readBearer = createBearerReader()
  const openSession = async (authorization: string | undefined, connection?: object) => {
    const token = await parts.verify(readBearer(authorization, connection))
    const grounds = groundsOf(token)
    const standing = await parts.standingOf(grounds.objectId, grounds.applicationId)
    if (isRevoked(grounds, standing)) fail('InvalidToken')
    if (grounds.signInId !== undefined && !(await parts.isSignInOpen(grounds.signInId))) fail('InvalidToken')
    return { caller: makeCaller(token.facts), grounds }
  }
  return {
    openSession,
    authenticate: async (authorization, connection) => (await openSession(authorization, connection)).caller,

    async permit(caller, permission, params, rights = []) {
      if (!('action' in permission)) {
        permitByTable(caller, permission)
        const any = [rights].flat()
        if (any.length > 0) await parts.requireAnyRight(caller, any, params)
        return
      }
      const segments = Object.entries(params).map(([name, value]) => [name, encodeScopeSegment(value)])
      const scope = permission.scope(Object.fromEntries(segments))
      await requireAction(parts.assignmentsOf, caller, permission.action, scope)
    },

    throttle: parts.throttle,
  }
}

function groundsOf({ facts, issuer, issuedAtMs, isTimeExact, signInId }: VerifiedToken): TokenGrounds {
  return {
    objectId: facts.objectId,
    kind: facts.kind === 'delegated' ? 'user' : 'servicePrincipal',
    applicationId: facts.applicationId,
    isOurs: issuer.ours,
    knownPrincipalsOnly: issuer.knownPrincipalsOnly,
    issuedAtMs,
    isTimeExact,
    signInId,
  }
}
