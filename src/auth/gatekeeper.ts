import { fail } from '../kernel/problem.ts'
import type { Caller } from './caller.ts'
import type { Params, Permission } from './permission.ts'
import { permitByTable } from './permit.ts'

/** What stands between a request and its operation. */
export interface Gatekeeper {
  authenticate(authorization: string | undefined): Promise<Caller>
  /** Throws when the caller may not. */
  permit(caller: Caller, permission: Permission, params: Params): Promise<void>
  /** Throws when the caller has used up its allowance. */
  throttle(caller: Caller): Promise<void>
}

/** Nobody gets in while there is no token service. */
export function createGatekeeper(): Gatekeeper {
  return {
    authenticate: async (authorization) => fail(authorization ? 'InvalidToken' : 'MissingToken'),
    permit: async (caller, permission, params) => {
      if (!('action' in permission)) return permitByTable(caller, permission, params)
      const { applicationId: client, objectId } = caller
      fail('AuthorizationFailed', {
        client,
        objectId,
        action: permission.action,
        scope: permission.scope(params),
      })
    },
    throttle: async () => {},
  }
}
