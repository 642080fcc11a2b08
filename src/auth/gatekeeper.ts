import { fail } from '../kernel/problem.ts'
import { type Bearer, createBearerReader } from './bearer.ts'
import { type Caller, makeCaller } from './caller.ts'
import type { RightName, Rights } from './effective-rights.ts'
import type { Params, Permission } from './permission.ts'
import { permitByTable } from './permit.ts'
import type { IsSignInOpen, ReadStanding, Standing } from './principals.ts'
import { type AssignmentsOf, encodeScopeSegment, requireAction } from './role-assignments.ts'
import type { VerifiedToken } from './verify-token.ts'

/** The checks that every request passes before its operation runs. */
export interface Gatekeeper {
  /** `connection`: the client's, where there is one; requests over it mostly carry the same token. */
  authenticate(authorization: string | undefined, connection?: object): Promise<Caller>
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
  return {
    async authenticate(authorization, connection) {
      const token = await parts.verify(readBearer(authorization, connection))
      const { objectId, applicationId } = token.facts
      checkStanding(token, await parts.standingOf(objectId, applicationId))
      if (token.signInId !== undefined && !(await parts.isSignInOpen(token.signInId))) fail('InvalidToken')
      return makeCaller(token.facts)
    },

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

/** Refuses a token whose principal or client was deleted, disabled or cut off since it was issued. */
function checkStanding(token: VerifiedToken, standing: Standing): void {
  const { facts, issuer } = token
  const wanted = facts.kind === 'delegated' ? 'user' : 'servicePrincipal'
  const principal =
    standing.kind === wanted ? standing.enabled : standing.kind === 'absent' && !issuer.knownPrincipalsOnly
  const client = issuer.ours ? standing.client === 'enabled' : standing.client !== 'disabled'
  if (!principal || !client || isCutOff(token, standing)) fail('InvalidToken')
}

/** A token in whole seconds that shares the second of the revocation may have been issued after it. */
function isCutOff({ issuedAtMs, isTimeExact }: VerifiedToken, { validFromMs }: Standing): boolean {
  return isTimeExact ? issuedAtMs <= validFromMs : issuedAtMs < Math.floor(validFromMs / 1000) * 1000
}
