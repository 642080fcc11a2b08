import type { Query } from '../db/query.ts'
import { Problem } from '../kernel/problem.ts'
import type { Gatekeeper } from './gatekeeper.ts'
import { mayUseMasking } from './role-assignments.ts'

/** What a token proves about somebody who wants into a database under a name. */
export type LoginCheck =
  | { readonly kind: 'accepted'; readonly principal: LoginPrincipal }
  | { readonly kind: 'expired' }
  | { readonly kind: 'refused' }

export interface LoginPrincipal {
  readonly id: string
  readonly kind: 'user' | 'servicePrincipal'
  /** The client id of the application that got the token. */
  readonly applicationId: string
}

/**
 * Name and token must belong together: a userPrincipalName to a token that an application got for that person, an appId to
 * the application's own. Who fails learns nothing of who exists.
 */
export function createLoginCheck(gatekeeper: Pick<Gatekeeper, 'authenticate'>, sql: Query) {
  return async function checkLogin(name: string, token: string): Promise<LoginCheck> {
    try {
      const caller = await gatekeeper.authenticate(`Bearer ${token}`)
      const kind = caller.kind === 'delegated' ? 'user' : 'servicePrincipal'
      if (caller.personal || !mayUseMasking(caller)) return { kind: 'refused' }
      const [found] = await sql<{ name: string | null }[]>`
        select case kind when 'user' then user_principal_name else app_id end as name from directory_object
        where tenant_id = ${caller.tenantId} and id = ${caller.objectId} and kind = ${kind} and deleted_at is null`
      if (!found?.name || found.name.toLowerCase() !== name.toLowerCase()) return { kind: 'refused' }
      const { objectId: id, applicationId } = caller
      return { kind: 'accepted', principal: { id, kind, applicationId } }
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 401) throw error
      return { kind: error.problem === 'ExpiredToken' ? 'expired' : 'refused' }
    }
  }
}
