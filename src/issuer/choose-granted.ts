import { defaultScope, knownPermissions, signInScopes } from '../auth/known-permissions.ts'

/** Every scope that a token of ours can be asked for. */
export const resourceScopes: readonly string[] = [defaultScope, ...Object.keys(knownPermissions)]

/** The scopes of a request that name permissions. */
export function permissionsIn(scopes: Iterable<string>): string[] {
  return [...scopes].filter(
    (name) => name !== defaultScope && !(signInScopes as readonly string[]).includes(name),
  )
}

/** The permissions that a token carries: those requested and granted, or with `.default` all that were granted. */
export function chooseGranted(requested: ReadonlySet<string>, granted: readonly string[]): string[] {
  return requested.has(defaultScope) ? [...granted] : granted.filter((name) => requested.has(name))
}
