import { foldPrincipalName } from '../kernel/fold-principal-name.ts'
import { Problem } from '../kernel/problem.ts'
import type { TokenGrounds } from '../kernel/token-grounds.ts'
import type { Gatekeeper } from './gatekeeper.ts'
import { mayUseMasking } from './role-assignments.ts'

/** The result of checking the token that a client sends as its database password. */
export type LoginCheck =
  | { readonly kind: 'accepted'; readonly principal: LoginPrincipal }
  | { readonly kind: 'expired' }
  | { readonly kind: 'refused' }

export interface LoginPrincipal {
  readonly id: string
  readonly kind: 'user' | 'servicePrincipal'
  /** The client id of the application that got the token. */
  readonly applicationId: string
  readonly grounds: TokenGrounds
}

/** The name under which a principal logs in to databases: a user's userPrincipalName, an application's appId. */
export type FindLoginName = (
  tenantId: string,
  objectId: string,
  kind: LoginPrincipal['kind'],
) => Promise<string | undefined>

/**
 * Name and token must belong together: a userPrincipalName to a token that an application got for that person, an appId to
 * the application's own. A refusal does not tell which principals exist.
 */
export function createLoginCheck(gatekeeper: Pick<Gatekeeper, 'openSession'>, findName: FindLoginName) {
  return async function checkLogin(name: string, token: string): Promise<LoginCheck> {
    try {
      const { caller, grounds } = await gatekeeper.openSession(`Bearer ${token}`)
      const { kind } = grounds
      if (caller.personal || !mayUseMasking(caller)) return { kind: 'refused' }
      const known = await findName(caller.tenantId, caller.objectId, kind)
      if (!known || foldPrincipalName(known) !== foldPrincipalName(name)) return { kind: 'refused' }
      const { objectId: id, applicationId } = caller
      return { kind: 'accepted', principal: { id, kind, applicationId, grounds } }
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 401) throw error
      return { kind: error.problem === 'ExpiredToken' ? 'expired' : 'refused' }
    }
  }
}
